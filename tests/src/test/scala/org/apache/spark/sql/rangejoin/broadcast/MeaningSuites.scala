/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.rangejoin.meaning._
import org.apache.spark.sql.rangejoin.plan.CoverageSuite

// The rules of meaning, where a side is broadcast.

class BroadcastJoinTypeSuite extends JoinTypeSuite with BroadcastMeaning

class KeylessJoinTypeSuite extends JoinTypeSuite with WithoutKeys

class BroadcastNullSuite extends NullSuite with BroadcastMeaning

class KeylessNullSuite extends NullSuite with WithoutKeys

class BroadcastOverflowSuite extends OverflowSuite with BroadcastMeaning

class KeylessOverflowSuite extends OverflowSuite with WithoutKeys

class BroadcastRaisingSuite extends RaisingSuite with BroadcastMeaning

class KeylessRaisingSuite extends RaisingSuite with WithoutKeys

class BroadcastTypeSuite extends TypeSuite with BroadcastMeaning

class KeylessTypeSuite extends TypeSuite with WithoutKeys

class BroadcastKeySuite extends KeySuite with BroadcastMeaning

class BroadcastStringSuite extends StringSuite with BroadcastMeaning

class BroadcastDecimalSuite extends DecimalSuite with BroadcastMeaning

class BroadcastEndsSuite extends EndsSuite with BroadcastMeaning

class BroadcastFloatOrderSuite extends FloatOrderSuite with BroadcastMeaning

class BroadcastFloatArithmeticSuite extends FloatArithmeticSuite with BroadcastMeaning

class BroadcastMonotonicitySuite extends MonotonicitySuite with BroadcastMeaning

class BroadcastPayloadSuite extends PayloadSuite with BroadcastMeaning

class BroadcastCalendarSuite extends CalendarSuite with BroadcastMeaning

class BroadcastCompositionSuite extends CompositionSuite with BroadcastMeaning

/** The tables of the README hold for broadcast joins as well. */
class BroadcastCoverageSuite extends CoverageSuite with Broadcasting {

  // The one no of the table is a yes here, as the README says below it.
  override protected def asInReadme(line: String): String =
    if (line.startsWith("| difference |")) {
      assert(line.endsWith(" yes |"))
      line.stripSuffix(" yes |") + " no |"
    } else line
}
