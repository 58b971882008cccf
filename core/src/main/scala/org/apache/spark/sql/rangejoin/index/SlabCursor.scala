// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * The part of a cursor that searches by two ranges: goes through the slabs of a group that the second range meets.
 * Used as
 *
 * {{{
 *   if (isWanted(...)) {
 *     aim(...)                            // the second range
 *     begin(...)                          // the first one
 *     while ({ row = next(); row >= 0 }) ...
 *   }
 * }}}
 *
 * Rows of the index are returned in no order.
 */
private[index] final class SlabCursor(slabs: Slabs) {
  private[this] val choice = new ScanChoice

  // The second range, and the slabs that are left.
  private[this] var lowerSlab = 0L
  private[this] var upperSlab = 0L
  private[this] var firstSlab = 0
  private[this] var endSlab = 0

  // The first range, and the entries that are left in the current slab.
  private[this] var lower = 0L
  private[this] var upper = 0L
  private[this] var start = 0
  private[this] var end = 0

  // The cost of searches by slabs, beside the rows they visited, in rows.
  private[this] var extraCost = 0L

  /**
   * Whether the next row is to be searched by two ranges.
   *
   * @param rows the number of rows of the group
   * @param visited the number of rows that the cursor has visited so far, by one range or by two
   */
  def isWanted(group: Int, rows: Int, visited: Long): Boolean =
    slabs.areOf(group) && choice.next(visited + extraCost, rows.toLong)

  /** Takes the second range of the streamed row that is searched for next; false where it may be unknown. */
  def aim(lower: Long, upper: Long): Boolean = {
    lowerSlab = lower
    upperSlab = upper
    !slabs.second.unknown.inStreamed(lower, upper)
  }

  /** Begins a search by both ranges. */
  def begin(group: Int, lower: Long, upper: Long): Unit = {
    this.lower = lower
    this.upper = upper
    firstSlab = slabs.first(group)
    endSlab = slabs.endOf(group, upperSlab)
    start = 0
    end = 0
  }

  /** The next row of the index that may match, or -1. */
  def next(): Int = {
    var entry = slabs.lastEntryReaching(start, end, lower)
    while (entry < 0 && nextSlab()) entry = slabs.lastEntryReaching(start, end, lower)
    end = entry
    if (entry < 0) -1
    else {
      extraCost += SlabCursor.RowsOfRow
      slabs.row(entry)
    }
  }

  private def nextSlab(): Boolean = {
    val slab = slabs.lastReaching(firstSlab, endSlab, lowerSlab)
    if (slab >= 0) {
      endSlab = slab
      start = slabs.start(slab)
      end = slabs.endIn(slab, upper)
      extraCost += SlabCursor.RowsOfSlab
    }
    slab >= 0
  }
}

private[index] object SlabCursor {

  /** Extra cost of a row found by slabs, in rows that are adjacent in memory. */
  final val RowsOfRow = 2

  /** A search in a slab costs as much as this many rows. */
  final val RowsOfSlab = 8
}
