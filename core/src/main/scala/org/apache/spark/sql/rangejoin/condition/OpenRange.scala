// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.NullBound

/**
 * A range that has no end: every value of one side is in it, for every point of the other. It is true of all pairs, and
 * its operands are never evaluated. A join without a range gets it if its matches are ranked by the distance of the
 * value from the point: then the rows of a key are read in the order of their values, and the nearest are found by a
 * search.
 *
 * @param value by which the rows of one side are ordered
 * @param point of the other side
 * @param nulls what a NULL value means: it matches nothing, if the condition of the join says so elsewhere; it is
 *   behind all values; or the order of the rows is not known
 * @param excludesNaN whether the order of rows with NaN is not known either
 * @param greatest beyond it the distance wraps around, or raises; None where it never does
 * @param rounding how the distance is rounded, where all rows that tie by it are wanted; else None
 */
case class OpenRange(
    value: Expression,
    point: Expression,
    nulls: NullBound,
    excludesNaN: Boolean = false,
    greatest: Option[Long] = None,
    rounding: Option[Rounding] = None)
    extends BinaryExpression with PlanningConjunct {

  override def left: Expression = value

  override def right: Expression = point

  override def toString: String = s"$value at any distance from $point"

  override def sql: String = s"${value.sql} at any distance from ${point.sql}"

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): OpenRange = copy(value = newLeft, point = newRight)

  /** `value <= end`, where the end is open for every row. */
  private[condition] def test(side: Side): RangeTest =
    RangeTest(
      value,
      Literal(null, value.dataType),
      side,
      strict = false,
      this,
      trusted = if (excludesNaN) Map(side -> Not(IsNaN(value))) else Map.empty,
      nulls = Map(side -> nulls, side.other -> NullBound.OpenEnd)
    )
}
