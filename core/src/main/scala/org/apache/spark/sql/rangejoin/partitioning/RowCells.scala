// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow

/**
 * The cells of one row after the other: those of its low end and of its high end. Both interpreted and generated code
 * finds them here.
 *
 * @param isOwner whether a row without a high end is a point; else it has no end
 * @param partition of the map task
 */
final class RowCells(bounds: BoundColumns, isOwner: Boolean, partition: Int = 0) {
  private val (lowAt, highAt) = (bounds.low.getOrElse(-1), bounds.high.getOrElse(-1))

  private val distance = bounds.distance.orNull

  var first: Int = _
  var last: Int = _

  /**
   * Of a row that reaches from one cell to an end, or that matches at any distance: the cell it lies in; -1 where that
   * is not known.
   */
  var own: Int = _

  /** Finds the cells of a row of the columns of a side, none of whose bounds is NULL. */
  def find(cells: CellSearch, row: InternalRow): Unit = find(
    cells,
    if (lowAt < 0) 0L else row.getLong(lowAt),
    if (lowAt < 0) null else bounds.value(row, lowAt),
    if (highAt < 0) 0L else row.getLong(highAt),
    if (highAt < 0) null else bounds.value(row, highAt)
  )

  /** Finds the cells of the bounds that there are; see [[CellSearch.cell]]. */
  def find(cells: CellSearch, low: Long, lowValue: Any, high: Long, highValue: Any): Unit = {
    first = if (lowAt < 0) 0 else cells.cell(low, lowValue)
    last =
      if (highAt >= 0) cells.cellNear(first, high, highValue)
      else if (isOwner) first
      else cells.size - 1
    val bound = if (lowAt < 0) high else low
    own = if (!bounds.isKnown(bound)) -1 else if (lowAt < 0) last else first
    if (distance != null) findAtAnyDistance(cells, bound)
  }

  private def findAtAnyDistance(cells: CellSearch, bound: Long): Unit = {
    if (!distance.hasKnownNearest(cells, bound)) own = -1
    if (!isOwner || own < 0) {
      first = 0
      last = cells.size - 1
    }
  }

  /**
   * The id of the bucket of a row of the owner.
   *
   * @param lengths where the length of an interval counts; null where it need not
   */
  def ownerId(layout: BucketLayout, lengths: LengthCounter): Int = {
    if (lengths != null) lengths.add(length)
    if (distance != null && own < 0) layout.anyIdOfLength(length, partition)
    else layout.ownerId(first, last)
  }

  /** The number of cells from the low end to the high end; 0 where these are inverted. */
  def length: Int = math.max(0, last - first)
}
