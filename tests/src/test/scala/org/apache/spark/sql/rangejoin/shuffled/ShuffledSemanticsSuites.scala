// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.rangejoin.LifecycleSuite
import org.apache.spark.sql.rangejoin.plan.CoverageSuite
import org.apache.spark.sql.rangejoin.semantics._

// The rules of meaning, where a side of each partition is indexed: those that are about join types, keys
// and rows. Bounds are evaluated as in other joins.

class ShuffledJoinTypeSuite extends JoinTypeSuite with ShuffledSemantics

class ShuffledNullSuite extends NullSuite with ShuffledSemantics

class ShuffledKeySuite extends KeySuite with ShuffledSemantics

class ShuffledRaisingSuite extends RaisingSuite with ShuffledSemantics

class ShuffledPayloadSuite extends PayloadSuite with ShuffledSemantics

class ShuffledEndsSuite extends EndsSuite with ShuffledSemantics

class ShuffledStringSuite extends StringSuite with ShuffledSemantics

class ShuffledCompositionSuite extends CompositionSuite with ShuffledSemantics

/** The table of shapes holds for shuffled hash joins as well; of types, a share. */
class ShuffledCoverageSuite extends CoverageSuite with Shuffling {
  override protected def repeatsTests: Boolean = true

  override protected def tables: Seq[String] = Seq("shapes")

  override protected def takes(test: String): Boolean = test.hashCode % 3 == 0
}

/** An index, and what is sorted in its place, are given back in every case. */
class ShuffledLifecycleSuite extends LifecycleSuite with Shuffling {
  override protected def repeatsTests: Boolean = true

  override protected def isOfWindow: Boolean = false
}

class SortedLifecycleSuite extends ShuffledLifecycleSuite {
  override protected def buffer: org.apache.spark.sql.rangejoin.RangeJoinTest.Settings =
    Shuffling.ways(1)
}
