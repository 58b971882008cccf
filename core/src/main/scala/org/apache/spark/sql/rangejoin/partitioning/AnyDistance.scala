// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.rangejoin.condition.Rounding
import org.apache.spark.sql.rangejoin.kernel.OrderedLong

/**
 * Describes a range without an end, of which only the nearest rows are wanted: every row of the owner matches every row
 * of the other side. A row of the owner lies in one bucket, together with the rows near it; the nearest rows of the
 * buckets before and after it are copied there ([[BestCopies]]). That is not enough if distances from the row might
 * wrap around, raise, or be rounded too much: then the row needs all rows.
 *
 * @param greatest beyond it distances wrap around, or raise; None where they never do
 * @param rounding how distances are rounded, if all rows that tie by a rounded distance are wanted; else None
 */
case class AnyDistance(greatest: Option[Long], rounding: Option[Rounding] = None) {

  /** Whether the rows that are nearest to a point are known, by its bound. */
  def hasKnownNearest(cells: CellSearch, point: Long): Boolean =
    greatest.forall(cells.isCentral(point, _)) &&
      rounding.forall(r => math.abs(OrderedLong.toDouble(point)) <= AnyDistance.farthest(cells, r))
}

object AnyDistance {

  /**
   * How far from 0 a point may be if distances are rounded. At this distance the last digit is about 2^-32^ of the
   * greatest boundary (FLOAT: 2^-19^), so that few rows tie.
   */
  def farthest(cells: CellSearch, rounding: Rounding): Double =
    cells.greatestNumber * (if (rounding.single) 1 << 4 else 1 << 20)
}
