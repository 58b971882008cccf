// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.memory.{SparkOutOfMemoryError, TaskMemoryManager}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.array.LongArray

/**
 * The part of a window that is in memory: rows in pages and, apart from them, their bounds in one
 * array of longs, so that a scan that only compares touches no row.
 *
 * A row is addressed by its index in `[head, tail)`. Rows leave mostly at the head; a row that
 * leaves from the middle is a hole until the array is compacted. Indices hold until the next
 * `tryAppend`, `compactIfSparse` or `clear`.
 *
 * Invariants: the row at `head` is not a hole; a hole has, instead of its sort bound, the index of a later entry with
 * nothing but holes in between; unless rows are scattered, rows of one page are behind one another there as they are
 * here; when `compactIfSparse` returns, holes are no more than half of the entries, and rows that left no more than
 * half of those in the pages.
 *
 * Cost: amortised constant time for each row to append and to evict, and for a step of a scan from
 * one row to the next, however many holes lie in between: `nextRow` shortens the way it went.
 */
private[window] final class MemoryRows(memory: WindowMemory, rows: PagedRowStore) {
  import MemoryRows._

  private[this] var entries: LongArray = _
  private[this] var capacity = 0
  private[this] var first = 0
  private[this] var end = 0
  private[this] var holes = 0
  // Whether a row has left from the middle since there was none.
  private[this] var scattered = false

  def head: Int = first
  def tail: Int = end
  def isEmpty: Boolean = first == end

  /** Number of rows. */
  def size: Int = end - first - holes

  def sortBound(index: Int): Long = entries.get(index * Stride)

  def evictBound(index: Int): Long = entries.get(index * Stride + 1)

  /** The first row at an index or after it that is not a hole; `tail` where there is none. */
  def nextRow(index: Int): Int =
    if (index >= end || !isHole(index)) index
    else {
      var next = entries.get(index * Stride).toInt
      while (next < end && isHole(next)) next = entries.get(next * Stride).toInt
      entries.set(index * Stride, next)
      next
    }

  /**
   * The first index from `index` on whose row has a sort bound up to `upper` and an evict bound from
   * `lower` on, or `tail`; of rows without holes. Has one branch a row, as in a few rows in any order
   * either comparison alone is as good as chance.
   */
  def firstWithin(index: Int, lower: Long, upper: Long): Int = {
    var i = index
    while (i < end && (isLess(upper, sortBound(i)) | isLess(evictBound(i), lower)) < 0) i += 1
    i
  }

  /** Points `row` at a row; valid until the next call, a release of memory excepted. */
  def read(index: Int, row: UnsafeRow): Unit = rows.read(reference(index) & ~Matched, row)

  /** Points `row` at a row for the time of a copy: a release of memory does not spare it. */
  def point(index: Int, row: UnsafeRow): Unit = rows.point(reference(index) & ~Matched, row)

  /** How many of the rows behind one, up to `until`, are behind it in its page, too. */
  def stepsFrom(index: Int, until: Int): Int =
    if (scattered) 0
    else {
      val page = TaskMemoryManager.decodePageNumber(reference(index))
      var low = index
      var high = until - 1
      // The last one of the page: mostly the last of all.
      while (low < high && TaskMemoryManager.decodePageNumber(reference(high)) != page) {
        val middle = (low + high) >>> 1
        if (TaskMemoryManager.decodePageNumber(reference(middle)) == page) low = middle
        else high = middle
        if (low + 1 == high) high = low
      }
      high - index
    }

  /** Points `row`, which points at a row, at the one behind it in the page. */
  def step(row: UnsafeRow): Unit = rows.step(row)

  def markMatched(index: Int): Unit =
    entries.set(index * Stride + 2, reference(index) | Matched)

  def isMatched(index: Int): Boolean = (reference(index) & Matched) != 0

  def isHole(index: Int): Boolean = reference(index) == Hole

  /**
   * Adds a row at the tail; false where there is no memory for it. The rows are the same then, but may
   * have moved to the front: indices do not hold.
   */
  def tryAppend(row: UnsafeRow, sortBound: Long, evictBound: Long): Boolean =
    try {
      if (end >= capacity && !makeRoom()) false
      else {
        val reference = rows.append(row)
        val entry = end * Stride
        entries.set(entry, sortBound)
        entries.set(entry + 1, evictBound)
        entries.set(entry + 2, reference)
        end += 1
        true
      }
    } catch {
      case _: SparkOutOfMemoryError => false
    }

  /** Removes the row at an index for good. */
  def evict(index: Int): Unit = {
    rows.release(reference(index) & ~Matched)
    if (index == first) {
      first += 1
      while (first < end && isHole(first)) {
        first += 1
        holes -= 1
      }
    } else {
      scattered = true
      entries.set(index * Stride, index + 1)
      entries.set(index * Stride + 2, Hole)
      holes += 1
    }
  }

  /** Begins at index 0 again; there is no row. */
  def rewind(): Unit = {
    assert(first == end)
    scattered = false
    first = 0
    end = 0
  }

  /**
   * Closes the holes where they outnumber the rows, and moves the rows together where most of what
   * their pages hold has left.
   *
   * @return whether rows have other indices now
   */
  def compactIfSparse(): Boolean = {
    val sparsePages = rows.isSparse
    val sparse = sparsePages || holes > size
    if (sparse) moveTo(entries, sparsePages)
    sparse
  }

  /** Removes all rows. */
  def clear(): Unit = {
    rows.clear()
    forgetEntries()
  }

  /**
   * Removes all rows and gives their memory back, but for the page of the row that was read last.
   * The head, which is the tail then, stays where it is.
   */
  def giveBack(): Unit = {
    rows.giveBack()
    freeEntries()
    end = first
    holes = 0
    scattered = false
  }

  /** Removes all rows and gives all memory back. */
  def release(): Unit = {
    rows.release()
    freeEntries()
    forgetEntries()
  }

  private def forgetEntries(): Unit = {
    first = 0
    end = 0
    holes = 0
    scattered = false
  }

  private def freeEntries(): Unit = {
    if (entries != null) memory.freeArray(entries)
    entries = null
    capacity = 0
  }

  private def reference(index: Int): Long = entries.get(index * Stride + 2)

  /** Moves the entries to the front where that frees half of the array, or else doubles it. */
  private def makeRoom(): Boolean =
    if (capacity == 0 || size > (if (capacity == MostRows) MostRows - 1 else capacity / 2)) {
      // Without an array there are no rows, whatever index they ended at.
      if (capacity == 0) forgetEntries()
      val larger = math.max(InitialRows, math.min(capacity * 2L, MostRows).toInt)
      larger > capacity && {
        val source = entries
        val target = memory.allocateArray(larger.toLong * Stride)
        moveTo(target, movesRows = false)
        if (source != null) memory.freeArray(source)
        capacity = larger
        true
      }
    } else {
      moveTo(entries, movesRows = false)
      true
    }

  private def moveTo(target: LongArray, movesRows: Boolean): Unit = {
    var from = first
    var to = 0
    if (movesRows) rows.beginCompaction()
    var moving = movesRows
    while (from < end) {
      if (!isHole(from)) {
        val source = from * Stride
        val destination = to * Stride
        var reference = entries.get(source + 2)
        if (moving) {
          val moved = rows.move(reference & ~Matched)
          // Where there is no page to move to, the rows stay.
          if (moved == PagedRowStore.NoRow) moving = false
          else reference = moved | (reference & Matched)
        }
        target.set(destination, entries.get(source))
        target.set(destination + 1, entries.get(source + 1))
        target.set(destination + 2, reference)
        to += 1
      }
      from += 1
    }
    entries = target
    first = 0
    end = to
    holes = 0
  }
}

private[window] object MemoryRows {
  private val Stride = 3
  private val Hole = -1L
  // A flag in the lowest bit of a reference.
  private val Matched = 1L
  private val InitialRows = 256

  /** Negative where the one is less than the other. */
  private def isLess(a: Long, b: Long): Long = (a & ~b) | (~(a ^ b) & (a - b))

  /** As many as one array of longs has room for. */
  private val MostRows = Int.MaxValue / Stride
}
