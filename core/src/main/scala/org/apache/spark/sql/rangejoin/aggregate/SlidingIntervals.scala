// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
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
private[rangejoin] final class SlidingIntervals(runs: RunAggregates) {
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

/**
 * What the matches among [[SlidingIntervals]] add up to: the numbers of all rows that have not left, less those of
 * the rows that begin too late.
 */
private final class SlidingSums(runs: RunAggregates) {
  private[this] val numbers = new RowNumbers(runs)
  private[this] val width = numbers.width
  // The numbers of each row, until it leaves.
  private[this] var ofRows = Array.emptyLongArray
  // Slots that were used and are free again; those from `usedSlots` on were not used in the group.
  private[this] var free = Array.emptyIntArray
  private[this] var freeCount = 0
  private[this] var usedSlots = 0
  // Of all rows before a row, by its position among the begins.
  private[this] var before = Array.emptyLongArray
  private[this] val added = new Array[Long](width)
  private[this] val staying = new Array[Long](width)
  private[this] val matching = new Array[Long](width)

  /** Begins with no rows. */
  def clear(): Unit = {
    numbers.clear()
    java.util.Arrays.fill(added, 0L)
    java.util.Arrays.fill(staying, 0L)
    freeCount = 0
    usedSlots = 0
  }

  /** Reads the numbers of the next row; false where they cannot be summed. */
  def read(row: UnsafeRow): Boolean = numbers.read(row)

  /** Adds the row that was read; returns its slot. */
  def add(begin: Int): Int = {
    val slot = nextSlot()
    var i = 0
    while (i < width) {
      val number = numbers.last(i)
      ofRows(slot * width + i) = number
      before(begin * width + i) = added(i)
      added(i) += number
      staying(i) += number
      i += 1
    }
    slot
  }

  private def nextSlot(): Int =
    if (freeCount > 0) {
      freeCount -= 1
      free(freeCount)
    } else {
      usedSlots += 1
      usedSlots - 1
    }

  /** Removes the row of a slot. */
  def remove(slot: Int): Unit = {
    var i = 0
    while (i < width) {
      staying(i) -= ofRows(slot * width + i)
      i += 1
    }
    free(freeCount) = slot
    freeCount += 1
  }

  /** Makes the result of `runs` that of the rows that stay, but for those from a begin on. */
  def give(firstLate: Int, endOfBegins: Int): Unit = {
    var i = 0
    while (i < width) {
      val late = if (firstLate == endOfBegins) 0L else added(i) - before(firstLate * width + i)
      matching(i) = staying(i) - late
      i += 1
    }
    runs.give(matching)
  }

  /** Makes room for `rows` rows in all; false where there is no memory for them. */
  def reserve(rows: Int): Boolean = rows <= free.length ||
    (hasLength(rows) && runs.takeMemory((rows - free.length) * (8L * width + 8L)) && {
      ofRows = java.util.Arrays.copyOf(ofRows, rows * width)
      free = java.util.Arrays.copyOf(free, rows)
      true
    })

  /**
   * Keeps some of the begins, as the first of `length`; false where there is no memory for them.
   */
  def reserveBegins(first: Int, kept: Int, length: Int): Boolean = {
    val more = length.toLong * width - before.length
    (more <= 0L || (hasLength(length) && runs.takeMemory(more * 8L))) && {
      val target = if (more <= 0L) before else new Array[Long](length * width)
      System.arraycopy(before, first * width, target, 0, kept * width)
      before = target
      true
    }
  }

  /** Whether an array may have the numbers of `rows` rows. */
  private def hasLength(rows: Int): Boolean = rows.toLong * width <= Int.MaxValue - 15
}

/**
 * The ends by which intervals are counted: the matches of a streamed row are those that begin in
 * time, less those that end before it. So an interval that ends too early has to begin in time,
 * which it does if it is not inverted (does not end before it begins), and `lower <= upper + 1`.
 *
 * An inverted interval is in reach of no point, whether the intervals have both of their ends in
 * them (`lower = upper`), one (`lower = upper + 1`) or none (`lower = upper + 2`; an interval of a
 * single value is then in reach of none as well, and counts as inverted). If the streamed rows are
 * points of one of these kinds, an inverted interval gets an end just before the first point its
 * begin admits, so it is added and subtracted at once.
 */
private[rangejoin] final class CountedEnds {
  import CountedEnds._

  // By how much the lower bound of a point is above its upper one.
  private[this] var ofPoints = NoPoints
  private[this] var anyInverted = false

  /** Starts without intervals. The bounds are those of a typical streamed row. */
  def clear(lower: Long, upper: Long): Unit = {
    val above = lower - upper
    ofPoints =
      if (lower >= upper && above >= 0L && above <= MostOfPoints) above.toInt else NoPoints
    anyInverted = false
  }

  /** Whether an interval can be counted. */
  def take(sortBound: Long, evictBound: Long): Boolean =
    ofPoints != NoPoints || isProper(sortBound, evictBound)

  /** The end that it is counted by. */
  def of(sortBound: Long, evictBound: Long): Long =
    if (isProper(sortBound, evictBound)) evictBound
    else {
      anyInverted = true
      plus(sortBound, ofPoints - 1)
    }

  /** Whether the interval is not inverted, for streamed rows of this kind. */
  private def isProper(sortBound: Long, evictBound: Long): Boolean =
    plus(sortBound, most - 1) <= evictBound

  /** By how much the lower bound of a streamed row may exceed its upper bound at most. */
  def most: Int = math.max(1, ofPoints)

  /** Whether the matches of a streamed row can be counted. */
  def areOf(lower: Long, upper: Long): Boolean =
    if (anyInverted) lower >= upper && lower - upper == ofPoints
    else lower < Long.MinValue + most || lower - most <= upper
}

private object CountedEnds {
  private final val NoPoints = -1
  private final val MostOfPoints = 2L

  /** The greatest bound where the sum is greater. */
  private def plus(bound: Long, few: Int): Long =
    if (few > 0 && bound > Long.MaxValue - few) Long.MaxValue else bound + few
}
