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

class BroadcastJoinTypeSuite extends JoinTypeSuite with Broadcasting

class KeylessJoinTypeSuite extends JoinTypeSuite with WithoutKeys

class BroadcastNullSuite extends NullSuite with Broadcasting

class KeylessNullSuite extends NullSuite with WithoutKeys

class BroadcastOverflowSuite extends OverflowSuite with Broadcasting

class KeylessOverflowSuite extends OverflowSuite with WithoutKeys

class BroadcastRaisingSuite extends RaisingSuite with Broadcasting

class KeylessRaisingSuite extends RaisingSuite with WithoutKeys

class BroadcastTypeSuite extends TypeSuite with Broadcasting

class KeylessTypeSuite extends TypeSuite with WithoutKeys

class BroadcastKeySuite extends KeySuite with Broadcasting

class BroadcastStringSuite extends StringSuite with Broadcasting

class BroadcastDecimalSuite extends DecimalSuite with Broadcasting

class BroadcastEndsSuite extends EndsSuite with Broadcasting

class BroadcastFloatOrderSuite extends FloatOrderSuite with Broadcasting

class BroadcastFloatArithmeticSuite extends FloatArithmeticSuite with Broadcasting

class BroadcastMonotonicitySuite extends MonotonicitySuite with Broadcasting

class BroadcastPayloadSuite extends PayloadSuite with Broadcasting

class BroadcastCalendarSuite extends CalendarSuite with Broadcasting

class BroadcastCompositionSuite extends CompositionSuite with Broadcasting

/** The tables of the README hold for broadcast joins as well. */
class BroadcastCoverageSuite extends CoverageSuite with Broadcasting
