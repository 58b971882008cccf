// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType

/**
 * Where the bounds of a side are in a row of its columns.
 *
 * @param low where its long is, if it has one; its value follows unless the long is all there is
 * @param isLossless whether the long is all there is
 * @param dataType the type of the values
 * @param mayBeUnknown whether a bound at an extreme may be unknown
 * @param distance if rows match at any distance
 */
case class BoundColumns(
    low: Option[Int],
    high: Option[Int],
    isLossless: Boolean,
    dataType: DataType,
    mayBeUnknown: Boolean,
    distance: Option[AnyDistance] = None
) {
  val all: Seq[Int] = low.toSeq ++ high

  def hasNull(row: InternalRow): Boolean =
    low.isDefined && row.isNullAt(low.get) || high.isDefined && row.isNullAt(high.get)

  /** Whether it is known of a bound, by its long, where it is. */
  def isKnown(bound: Long): Boolean =
    !mayBeUnknown || (bound != Long.MinValue && bound != Long.MaxValue)

  /** The value of a bound whose long is a prefix, where it is known; else null. */
  def value(row: InternalRow, at: Int): Any =
    if (isLossless || row.isNullAt(at + 1)) null else row.get(at + 1, dataType)

  def position(row: InternalRow, at: Int): Position = Position(row.getLong(at), value(row, at))
}
