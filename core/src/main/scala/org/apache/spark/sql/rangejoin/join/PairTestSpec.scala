// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, UnknownBounds}

/**
 * The tests for a pair whose bounds do not decide.
 *
 * @param condition the original condition of the join, for a bound that may be unknown
 * @param upperByValue the upper test itself, for equal prefixes; None where equal bounds pass it
 * @param lowerByValue likewise the lower test
 * @param unknown which bounds may be unknown
 * @param areNeighbours whether buffered rows are in the order of values, and those that match are neighbours
 */
final case class PairTestSpec(
    condition: Expression,
    upperByValue: Option[Expression],
    lowerByValue: Option[Expression],
    unknown: UnknownBounds,
    areNeighbours: Boolean
) {
  def map(f: Expression => Expression): PairTestSpec =
    PairTestSpec(f(condition), upperByValue.map(f), lowerByValue.map(f), unknown, areNeighbours)
}

object PairTestSpec {

  /**
   * @param inOrderOfLowerTest whether buffered rows are in the order of the lower test where there is no other, which
   *   they need not be unless their best ones are wanted
   */
  def of(
      range: RangeCondition,
      condition: Expression,
      inOrderOfLowerTest: Boolean): PairTestSpec =
    PairTestSpec(
      condition,
      range.upperByValue,
      range.lowerByValue,
      range.unknown,
      range.areNeighbours && (range.upperTest.isDefined || inOrderOfLowerTest)
    )
}
