// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.{CountedEnds, RunAggregates}
import org.apache.spark.sql.rangejoin.kernel.SortedBounds

/**
 * Counts the matches of a streamed row among intervals, which leave in another order than they come in, without
 * visiting each: of those admitted that end late enough, which are in a heap by their evict bounds, all match but for
 * those that begin too late, which are the last in the order of sort bounds.
 *
 * {{{
 *   sort bound <= upper and evict bound >= lower   =   evict bound >= lower   less   sort bound > upper
 * }}}
 *
 * That is so where those that end too early have not begun too late ([[CountedEnds]]). What is counted may be summed
 * likewise ([[SlidingSums]]).
 *
 * Takes 16 bytes for each interval that a later streamed row may match, and with sums 8 and 16 for each of their
 * numbers.
 */
private[scan] final class SlidingIntervals(runs: RunAggregates) {
  // A heap: no bound is less than the one at half its index. With sums, each entry also has the slot of its row.
  private[this] var ends = new Array[Long](16)
  private[this] var slots: Array[Int] = _
  private[this] var size = 0
  // In order.
  private[this] var begins = new Array[Long](16)
  private[this] var firstBegin = 0
  private[this] var endOfBegins = 0
  private[this] val countedEnds = new CountedEnds
  private[this] var works = true
  private[this] var wantsSums = false
  // Null where each row counts as one.
  private[this] var sums: SlidingSums = _

  /** Number of rows that may match a later streamed row. */
  def rows: Int = size

  /** Whether all rows so far could be counted. */
  def areWhole: Boolean = works

  /** Whether the matches of a streamed row can be counted. */
  def canCount(lower: Long, upper: Long): Boolean = works && countedEnds.areOf(lower, upper)

  /** Whether they are summed. */
  def haveSums: Boolean = sums != null

  /** Whether they could not be counted for a row that does not count as one, which sums can. */
  def wantSums: Boolean = wantsSums

  /**
   * Begins with no rows, for streamed rows like one with these bounds. Sums are needed where a function does not
   * count each row once, and stay.
   */
  def clear(withSums: Boolean, lower: Long, upper: Long): Unit = {
    countedEnds.clear(lower, upper)
    size = 0
    firstBegin = 0
    endOfBegins = 0
    works = true
    wantsSums = false
    if (withSums && sums == null) {
      sums = new SlidingSums(runs)
      works = sums.reserve(ends.length) && sums.reserveBegins(0, 0, begins.length)
      if (works) slots = new Array[Int](ends.length)
    } else if (sums != null) {
      works = slots != null
      sums.clear()
    }
  }

  /** Adds a row, not before those that were added. */
  def add(row: UnsafeRow, sortBound: Long, evictBound: Long): Unit = {
    works = works && countedEnds.take(sortBound, evictBound) && read(row) && makeRoom()
    if (works) {
      push(countedEnds.of(sortBound, evictBound), if (sums == null) 0 else sums.add(endOfBegins))
      begins(endOfBegins) = sortBound
      endOfBegins += 1
    }
  }

  private def read(row: UnsafeRow): Boolean =
    if (sums != null) sums.read(row)
    else {
      wantsSums = !runs.countsRow(row)
      !wantsSums
    }

  /**
   * Makes the result of `runs` that of the matches.
   *
   * @param lower no less than before; with `upper` the bounds of a row that `canCount` is true of
   * @return their number
   */
  def aggregate(lower: Long, upper: Long): Int = {
    while (size > 0 && ends(1) < lower) pop()
    // Those that begin too late for a point may begin before its lower bound, where that is above its upper one.
    val above = countedEnds.most - 1
    val least = if (lower < Long.MinValue + above) Long.MinValue else lower - above
    firstBegin = SortedBounds.firstFrom(begins, firstBegin, endOfBegins, least)
    val firstLate = SortedBounds.firstBeyond(begins, firstBegin, endOfBegins, upper)
    val matches = size - (endOfBegins - firstLate)
    if (sums == null) runs.count(matches) else sums.give(firstLate, endOfBegins)
    matches
  }

  private def makeRoom(): Boolean = makeRoomForEnd() && makeRoomForBegin()

  private def makeRoomForEnd(): Boolean = {
    if (size + 1 == ends.length && (sums == null || sums.reserve(ends.length * 2))) {
      ends = enlarged(ends)
      if (slots != null && slots.length < ends.length)
        slots = java.util.Arrays.copyOf(slots, ends.length)
    }
    size + 1 < ends.length
  }

  /**
   * Gives up if memory is short, although some begins may no longer be needed: moving all others to free a few places
   * would take too long.
   */
  private def makeRoomForBegin(): Boolean = endOfBegins < begins.length || {
    val kept = endOfBegins - firstBegin
    val grows = kept > begins.length / 2
    val length = if (grows) begins.length * 2 else begins.length
    (sums == null || sums.reserveBegins(firstBegin, kept, length)) && {
      val target = if (grows) enlarged(begins) else begins
      target.length == length && {
        System.arraycopy(begins, firstBegin, target, 0, kept)
        begins = target
        firstBegin = 0
        endOfBegins = kept
        true
      }
    }
  }

  /** The bounds in an array twice as large; the array itself where there is no memory for that. */
  private def enlarged(bounds: Array[Long]): Array[Long] =
    if (runs.takeMemory(bounds.length * 8L)) java.util.Arrays.copyOf(bounds, bounds.length * 2)
    else bounds

  private def push(bound: Long, slot: Int): Unit = {
    size += 1
    var position = size
    while (position > 1 && ends(position >>> 1) > bound) {
      move(position >>> 1, position)
      position >>>= 1
    }
    put(position, bound, slot)
  }

  private def pop(): Unit = {
    if (sums != null) sums.remove(slots(1))
    val bound = ends(size)
    val slot = if (sums == null) 0 else slots(size)
    size -= 1
    var position = 1
    var child = 2
    while (child <= size) {
      if (child < size && ends(child + 1) < ends(child)) child += 1
      if (ends(child) < bound) {
        move(child, position)
        position = child
        child = position << 1
      } else child = size + 1
    }
    put(position, bound, slot)
  }

  private def move(from: Int, to: Int): Unit = {
    ends(to) = ends(from)
    if (sums != null) slots(to) = slots(from)
  }

  private def put(position: Int, bound: Long, slot: Int): Unit = {
    ends(position) = bound
    if (sums != null) slots(position) = slot
  }
}
