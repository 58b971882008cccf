// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.{Expression, LessThan, LessThanOrEqual}
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedLong}

/**
 * The test `lesser <= greater` (or `<` where strict) between an expression of one side and an
 * expression of the other.
 *
 * @param lesserSide the side `lesser` belongs to; `greater` belongs to the other
 * @param predicate the conjunct of the join condition that the test comes from
 * @param trusted by side, a condition without which the test says nothing about a row
 * @param exact when the test says all that the predicate says, for pairs of trusted rows
 * @param nulls by side, what a NULL of its value means, where it is the open end of either side; none
 *   where a NULL matches nothing
 * @param isEnclosing whether the test covers several that are joined by OR
 */
case class RangeTest(
    lesser: Expression,
    greater: Expression,
    lesserSide: Side,
    strict: Boolean,
    predicate: Expression,
    trusted: Map[Side, Expression] = Map.empty,
    exact: Exactness = Exact,
    nulls: Map[Side, NullBound] = Map.empty,
    isEnclosing: Boolean = false
) {

  def on(side: Side): Expression = if (side == lesserSide) lesser else greater

  /** Whether the values compared are longs, so that a bound decides by itself. */
  def isLosslessType: Boolean = OrderedLong.isLossless(lesser.dataType)

  /** Whether a NULL is the open end of a side. */
  def hasOpenEnds: Boolean = nulls.nonEmpty

  /** Whether a row of a side in which the value is NULL may match. */
  def readsNull(side: Side): Boolean =
    on(side).nullable && nulls.get(side).exists(_ != NullBound.NoMatch)

  /**
   * What a NULL means to a bound.
   *
   * @param hasLong whether an open end has a long of its own; else it is unknown, as where longs are prefixes
   */
  def nullBound(side: Side, hasLong: Boolean): Option[NullBound] =
    if (hasLong && isLosslessType) nulls.get(side)
    else if (readsNull(side)) Some(NullBound.Unknown)
    else None

  /** The comparison itself, where bounds are only prefixes of the values. */
  def byValue: Option[Expression] =
    if (isLosslessType) None
    else Some(if (strict) LessThan(lesser, greater) else LessThanOrEqual(lesser, greater))
}
