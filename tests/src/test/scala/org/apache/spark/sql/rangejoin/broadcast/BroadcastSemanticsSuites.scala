// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.rangejoin.plan.CoverageSuite
import org.apache.spark.sql.rangejoin.semantics._

// The rules of meaning, where a side is broadcast.

class BroadcastJoinTypeSuite extends JoinTypeSuite with InTurns

class KeylessJoinTypeSuite extends JoinTypeSuite with WithoutKeys

class PreservedLeftJoinTypeSuite extends JoinTypeSuite with PreservedLeft

class PreservedRightJoinTypeSuite extends JoinTypeSuite with PreservedRight

class PreservedNullSuite extends NullSuite with PreservedLeft

class PreservedOverflowSuite extends OverflowSuite with PreservedLeft

class PreservedRaisingSuite extends RaisingSuite with PreservedRight

class PreservedTypeSuite extends TypeSuite with PreservedLeft

class PreservedStringSuite extends StringSuite with PreservedLeft

class PreservedEndsSuite extends EndsSuite with PreservedRight

class PreservedFloatOrderSuite extends FloatOrderSuite with PreservedLeft

class BroadcastNullSuite extends NullSuite with InTurns

class KeylessNullSuite extends NullSuite with WithoutKeys

class BroadcastOverflowSuite extends OverflowSuite with InTurns

class KeylessOverflowSuite extends OverflowSuite with WithoutKeys

class BroadcastRaisingSuite extends RaisingSuite with InTurns

class KeylessRaisingSuite extends RaisingSuite with WithoutKeys

class BroadcastTypeSuite extends TypeSuite with InTurns

class KeylessTypeSuite extends TypeSuite with WithoutKeys

class BroadcastKeySuite extends KeySuite with BroadcastSemantics

class BroadcastStringSuite extends StringSuite with BroadcastSemantics

class BroadcastDecimalSuite extends DecimalSuite with BroadcastSemantics

class BroadcastEndsSuite extends EndsSuite with BroadcastSemantics

class BroadcastFloatOrderSuite extends FloatOrderSuite with BroadcastSemantics

class BroadcastFloatArithmeticSuite extends FloatArithmeticSuite with BroadcastSemantics

class BroadcastMonotonicitySuite extends MonotonicitySuite with BroadcastSemantics

class BroadcastPayloadSuite extends PayloadSuite with BroadcastSemantics

class BroadcastCalendarSuite extends CalendarSuite with BroadcastSemantics

class BroadcastCompositionSuite extends CompositionSuite with BroadcastSemantics

/** The tables of the reference hold for broadcast joins as well. */
class BroadcastCoverageSuite extends CoverageSuite with Broadcasting {
  override protected def repeatsTests: Boolean = true
}
