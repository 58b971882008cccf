/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.array.LongArray

/**
 * The buffered rows that may match the current streamed row or a later one, in the order of their
 * sort bounds. Bounds are kept apart from the rows in one array of longs, so that a scan that only
 * compares touches no row.
 *
 * A row is addressed by its index in `[head, tail)`. Rows leave mostly at the head; a row that
 * leaves from the middle is a hole until the window is compacted. Indices hold until the next
 * `append`, `compactIfSparse` or `clear`.
 *
 * Invariants: sort bounds do not fall from `head` to `tail`; the row at `head` is not a hole; a hole
 * has, in the place of its sort bound, the index of a later entry with none but holes in between;
 * when `compactIfSparse` returns, holes are no more than half of the window.
 *
 * Cost: amortised constant time for each row to append and to evict, and for a step of a scan from
 * one row to the next, however many holes lie in between: `nextRow` shortens the way it went.
 */
final class RangeWindow(memory: WindowMemory, rows: RowStore) {
  import RangeWindow._

  private[this] var entries: LongArray = _
  private[this] var capacity = 0
  private[this] var first = 0
  private[this] var end = 0
  private[this] var holes = 0

  private[this] var peak = 0

  def head: Int = first
  def tail: Int = end
  def isEmpty: Boolean = first == end

  /** Number of rows in the window. */
  def size: Int = end - first - holes

  /** Greatest number of rows held at a time. */
  def peakRows: Int = peak

  /** Greatest number of bytes held at a time, rows and bounds. */
  def peakMemory: Long = memory.peakBytes

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

  /** Points `row` at a row of the window; valid until the next call of the window. */
  def read(index: Int, row: UnsafeRow): Unit = rows.read(reference(index) & ~Matched, row)

  /** Marks a row as one that has found a match. */
  def markMatched(index: Int): Unit =
    entries.set(index * Stride + 2, reference(index) | Matched)

  /** Whether a row was marked as matched. */
  def isMatched(index: Int): Boolean = (reference(index) & Matched) != 0

  /** Adds a row at the tail. */
  def append(row: UnsafeRow, sortBound: Long, evictBound: Long): Unit = {
    if (end == capacity) makeRoom()
    val reference = rows.append(row)
    val entry = end * Stride
    entries.set(entry, sortBound)
    entries.set(entry + 1, evictBound)
    entries.set(entry + 2, reference)
    end += 1
    peak = math.max(peak, size)
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
      if (first == end) {
        first = 0
        end = 0
      }
    } else {
      entries.set(index * Stride, index + 1)
      entries.set(index * Stride + 2, Hole)
      holes += 1
    }
  }

  /** Closes the holes where they outnumber the rows. */
  def compactIfSparse(): Unit = if (holes > size) compact()

  /** Removes all rows. */
  def clear(): Unit = {
    rows.clear()
    first = 0
    end = 0
    holes = 0
  }

  def close(): Unit = {
    rows.close()
    if (entries != null) {
      memory.freeArray(entries)
      entries = null
    }
    capacity = 0
    first = 0
    end = 0
    holes = 0
  }

  private def reference(index: Int): Long = entries.get(index * Stride + 2)

  private[window] def isHole(index: Int): Boolean = reference(index) == Hole

  /** Moves the rows to the front where that frees half of the array, or else doubles it. */
  private def makeRoom(): Unit =
    if (capacity > 0 && size <= (if (capacity == MostRows) MostRows - 1 else capacity / 2)) {
      compact()
    } else {
      val larger = math.max(InitialRows, math.min(capacity * 2L, MostRows).toInt)
      if (larger == capacity) throw new IllegalStateException(
        s"a window of a range join holds $MostRows rows at most; narrow the range, or add a key"
      )
      val source = entries
      val target = memory.allocateArray(larger.toLong * Stride)
      moveTo(target)
      if (source != null) memory.freeArray(source)
      capacity = larger
    }

  private def compact(): Unit = moveTo(entries)

  private def moveTo(target: LongArray): Unit = {
    var from = first
    var to = 0
    while (from < end) {
      if (!isHole(from)) {
        val source = from * Stride
        val destination = to * Stride
        target.set(destination, entries.get(source))
        target.set(destination + 1, entries.get(source + 1))
        target.set(destination + 2, entries.get(source + 2))
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

object RangeWindow {
  private val Stride = 3
  private val Hole = -1L
  // A flag in the lowest bit of a reference.
  private val Matched = 1L
  private val InitialRows = 256

  /** As many as one array of longs has room for. */
  private val MostRows = Int.MaxValue / Stride
}
