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
