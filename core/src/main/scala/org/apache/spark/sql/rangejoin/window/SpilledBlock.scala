// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

/**
 * One block of a [[SpilledTail]]: what is known of its rows without reading them.
 *
 * @param start index of the first slot
 */
private[window] final class SpilledBlock(var start: Int) {

  /** Number of rows, those that left included. */
  var slots = 0

  /** Number of rows that have not left, the slot of the first of them, and its sort bound. */
  var live = 0
  var firstLive = 0
  var firstBound = 0L

  /** The rows on disk; null while they are not there. */
  var bytes: SpilledBytes = _

  /** Slots of rows that left, and of rows that have matched. */
  val dead = new java.util.BitSet()
  val matched = new java.util.BitSet()

  def firstIndex: Int = start + firstLive

  /** The first slot from one on that has a row; the number of slots where there is none. */
  def nextLive(slot: Int): Int = math.min(dead.nextClearBit(slot), slots)

  /** The number of rows from the first on whose sort bound is no more than one; without holes. */
  def slotsUpTo(bound: Long, rows: RowBlock): Int = {
    var low = firstLive
    var high = slots
    while (low < high) {
      val middle = (low + high) >>> 1
      if (rows.sortBound(middle) <= bound) low = middle + 1 else high = middle
    }
    low - firstLive
  }
}
