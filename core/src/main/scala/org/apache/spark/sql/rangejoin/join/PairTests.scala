// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.BasePredicate
import org.apache.spark.sql.rangejoin.condition.UnknownBounds

/** The predicates of a [[PairTestSpec]], over the streamed row followed by the buffered row. */
final case class PairTests(
    condition: BasePredicate,
    upperByValue: Option[BasePredicate] = None,
    lowerByValue: Option[BasePredicate] = None,
    unknown: UnknownBounds = UnknownBounds.All,
    areNeighbours: Boolean = false
)

object PairTests {

  /** The predicates of expressions bound to the streamed row followed by the buffered row. */
  def create(spec: PairTestSpec): PairTests = PairTests(
    PairPredicate.create(spec.condition),
    spec.upperByValue.map(PairPredicate.create),
    spec.lowerByValue.map(PairPredicate.create),
    spec.unknown,
    spec.areNeighbours
  )
}
