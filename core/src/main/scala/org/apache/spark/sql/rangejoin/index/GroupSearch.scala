// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.rangejoin.best.BestOrder

/**
 * How the rows of a group are searched.
 *
 * @param bounds of all rows
 * @param descending whether bounds are those of the lower test alone, each with its bits turned, so
 *   that they rise where the test asks for it
 * @param asks which tests a search asks of rows
 * @param linearScanThreshold groups of up to this number of rows are not searched
 * @param slabs of large groups, for a search by two ranges; null where there is one range
 */
private[index] final case class GroupSearch(
    bounds: IndexBounds,
    descending: Boolean,
    asks: Asks,
    linearScanThreshold: Int,
    slabs: Slabs) {

  /** Whether the rows of a search are in the order that they are wanted in, or can be had in it. */
  def isInOrderOf(best: BestOrder): Boolean =
    (!asks.evict || bounds.points) && {
      if (best.bySortBound) best.nearest || isFromEnd(best) || !bounds.scattered
      else descending || bounds.points
    }

  /** Whether the best rows are at the end of a search. */
  def isFromEnd(best: BestOrder): Boolean = best.descending != descending

  def estimatedSize: Long =
    bounds.estimatedSize + (if (slabs == null) 0L else slabs.estimatedSize)
}
