// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * `difference <= value` where `upper`, else `difference >= value`; `-value` where `negated`.
 *
 * @param side the side the value belongs to; for a constant the side of `x`
 * @param isWide whether the comparison says more than that ([[RoundedDifference]])
 */
private[condition] case class Limit(
    difference: Difference,
    value: Expression,
    side: Side,
    upper: Boolean,
    negated: Boolean,
    comparison: Comparison,
    isWide: Boolean = false
) {

  private def d = difference

  /** Whether `end` is below the point that is compared with it. */
  private val endIsLesser = if (d.isSum) !upper else upper == (side == d.xSide)

  /** The limit as a number. */
  val amount: Expression = d.arithmetic.number(value)

  /** The end of the range that the limit stands for: of `y` given `x`, or of `x` given `y`. */
  val end: Expression = {
    // y >= x - amount for an upper limit; x <= y + amount likewise, with the sides exchanged.
    val signed = if (negated) d.arithmetic.negative(amount) else amount
    if (d.isSum) d.arithmetic.rest(signed, d.on(side), up = !endIsLesser)
    else if (side == d.xSide) d.arithmetic.minus(d.x, signed, up = !endIsLesser)
    else d.arithmetic.plus(d.y, signed, up = !endIsLesser)
  }

  def test(trusted: Map[Side, Expression], exact: Exactness): RangeTest = {
    val point = d.on(side.other)
    val (lesser, greater) = if (endIsLesser) (end, point) else (point, end)
    val lesserSide = if (endIsLesser) side else side.other
    RangeTest(
      lesser,
      greater,
      lesserSide,
      // An end that was moved outward excludes nothing by being equal.
      comparison.strict && d.arithmetic.isExact,
      comparison.predicate,
      trusted,
      exact
    )
  }
}
