// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.rangejoin.condition.UnknownBounds
import org.apache.spark.sql.rangejoin.kernel.{GuardedValue, RangeBound}

/**
 * The bounds of one side of a join by buckets: the row takes up the positions from `low` to `high`. A bound
 * that is absent has no end, or is the same as the other for an owner that is a point.
 *
 * @param distance if rows match at any distance: a bound then says where a row lies
 */
case class SideBounds(
    low: Option[RangeBound],
    high: Option[RangeBound],
    distance: Option[AnyDistance] = None) {

  /**
   * What is evaluated for each row: for each bound its long and, where that is a prefix, its value.
   * A row one of whose bounds is NULL matches nothing.
   */
  def columns: Seq[Expression] = each.flatMap { bound =>
    if (isLossless) Seq(bound) else Seq(bound, GuardedValue(bound.child))
  }

  /** Whether a bound at an extreme may be unknown. */
  def mayBeUnknown: Boolean = each.exists(UnknownBounds.mayBe)

  /** Where the bounds are among the columns. */
  def ordinals: BoundColumns = ordinalsFrom(0)

  /** Where the bounds are if the columns come after `first` others. */
  def ordinalsFrom(first: Int): BoundColumns = {
    val width = if (isLossless) 1 else 2
    BoundColumns(
      low.map(_ => first),
      high.map(_ => if (low.isDefined) first + width else first),
      isLossless,
      each.head.child.dataType,
      mayBeUnknown,
      distance)
  }

  private def each: Seq[RangeBound] = low.toSeq ++ high

  // The values of both have one order, so that both are lossless or neither.
  private def isLossless: Boolean = each.forall(_.isLossless)
}
