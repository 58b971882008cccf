// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.kernel.Run
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * The rows of a window without holes, by their positions among those it has taken of a group: unlike indices of the
 * window, they hold as long as the group does.
 *
 * @param bySortBound whether it is in the order of sort bounds; else of evict bounds, which rise as well
 */
private[scan] final class WindowRun(window: RangeWindow, bySortBound: Boolean) extends Run {
  // What is added to a position for the index in the window.
  private[this] var shift = 0

  /** The row at the head of the window has this position. Holds as long as indices do. */
  def beginAt(position: Int): Unit = shift = window.head - position

  override def read(position: Int, row: UnsafeRow): Unit = window.read(position + shift, row)

  override def bound(position: Int): Long =
    if (bySortBound) window.sortBound(position + shift) else window.evictBound(position + shift)

  override def firstFrom(from: Int, end: Int, bound: Long): Int =
    if (bySortBound) {
      val below = if (bound == Long.MinValue) 0 else window.rowsUpTo(bound - 1)
      math.max(from, math.min(end, window.head + below - shift))
    } else {
      var low = from
      var high = end
      while (low < high) {
        val middle = (low + high) >>> 1
        if (this.bound(middle) < bound) low = middle + 1 else high = middle
      }
      low
    }

  override def lastCandidate(from: Int, end: Int): Int = end - 1
}
