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

package org.apache.spark.sql.rangejoin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, JoinedRow, UnsafeRow}
import org.apache.spark.sql.rangejoin.codegen.RangeJoinKernel
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * The loop of the range join. Both sides come sorted by key; within a key the streamed side by its
 * lower bound and the buffered side by its sort bound. For each streamed row:
 *
 * {{{
 *   admit   buffered rows of the key while  sortBound <= upper
 *   scan    the window from its head while  sortBound <= upper:
 *             evictBound <  lower   evict the row: no later streamed row of the key matches it
 *             otherwise             a candidate
 *
 *      evicted │ ├── window ──────────────┤ │ not yet admitted
 *   ───────────┼─┼──────────────┼─────────┼─┼──────────────▶ sort bound
 *              head      end of the scan   tail
 * }}}
 *
 * Every row that is visited is a candidate or leaves for good, so the work is the number of rows of
 * both sides and of candidates. The upper bound need not rise from one streamed row to the next:
 * that is why a scan ends at the first row beyond it and does not trust the tail.
 *
 * A bound at the extreme of its encoding may be unknown (see `RangeBound`); a pair with one is a
 * candidate only where the original condition of the join says so.
 *
 * Not for this class: the residual condition, join output, memory.
 *
 * @param bufferedFields number of columns of a buffered row
 * @param condition the original condition of the join, over the streamed and the buffered row
 */
final class RangeScanner(
    streamed: Iterator[InternalRow],
    buffered: Iterator[InternalRow],
    kernel: RangeJoinKernel,
    window: RangeWindow,
    bufferedFields: Int,
    condition: BasePredicate,
    metrics: ScanMetrics
) extends AutoCloseable {

  private[this] var streamedRow: InternalRow = _
  // The buffered row read last, not yet admitted; null when there is none left.
  private[this] var bufferedRow: InternalRow = _
  private[this] var started = false
  private[this] var groupOpen = false
  private[this] var closed = false

  // The scan of the current streamed row: the next index to visit.
  private[this] var scanning = false
  private[this] var cursor = 0
  private[this] var lower = 0L
  private[this] var upper = 0L

  private[this] val candidateRow = new UnsafeRow(bufferedFields)
  private[this] val pair = new JoinedRow
  // Rows of the window with a bound that may be unknown; mostly there are none.
  private[this] var unknownInWindow = 0
  private[this] var streamedUnknown = false

  private[this] var candidates = 0L
  private[this] var evicted = 0L

  /** The current streamed row. */
  def currentStreamed: InternalRow = streamedRow

  /** The candidate found last; valid until the next call of the scanner. */
  def currentCandidate: UnsafeRow = candidateRow

  /** Whether the scan of the current streamed row may have candidates left. */
  def isScanning: Boolean = scanning

  /**
   * Goes on to the next streamed row that may have candidates, and begins its scan.
   *
   * @return false when there is none; everything is released then
   */
  def nextStreamed(): Boolean = {
    if (!started) {
      started = true
      readBuffered()
    }
    scanning = false
    while (!scanning && !closed) {
      if ((bufferedRow == null && window.isEmpty) || !streamed.hasNext) {
        close()
      } else {
        streamedRow = streamed.next()
        if (kernel.loadStreamed(streamedRow) && findGroup()) {
          beginScan()
        }
      }
    }
    scanning
  }

  /** Goes on to the next candidate for the current streamed row; false when there is none. */
  def nextCandidate(): Boolean = {
    while (cursor < window.tail) {
      val index = cursor
      cursor += 1
      if (!window.isHole(index)) {
        if (window.sortBound(index) > upper) {
          scanning = false
          return false
        }
        if (window.evictBound(index) < lower) {
          evict(index)
        } else {
          window.read(index, candidateRow)
          if (!mayBeUnknown(index) || condition.eval(pair(streamedRow, candidateRow))) {
            candidates += 1
            return true
          }
          candidates += 1
        }
      }
    }
    scanning = false
    false
  }

  /** Moves the buffered side to the key of the streamed row; false when it has no such key. */
  private def findGroup(): Boolean = {
    if (groupOpen && !kernel.streamedInGroup()) {
      closeGroup()
    }
    if (!groupOpen) {
      var comparison = 1
      while (bufferedRow != null && comparison > 0) {
        comparison = kernel.compareStreamedWithBuffered()
        if (comparison > 0) readBuffered()
      }
      groupOpen = bufferedRow != null && comparison == 0
      if (groupOpen) kernel.openGroup()
    }
    groupOpen
  }

  private def closeGroup(): Unit = {
    groupOpen = false
    unknownInWindow = 0
    window.clear()
  }

  private def beginScan(): Unit = {
    lower = kernel.lower
    upper = kernel.upper
    streamedUnknown = lower == Long.MinValue || upper == Long.MaxValue
    window.compactIfSparse()
    admit()
    cursor = window.head
    scanning = cursor < window.tail
  }

  private def admit(): Unit =
    while (bufferedRow != null && kernel.sortBound <= upper && kernel.bufferedInGroup()) {
      if (kernel.evictBound >= lower) {
        if (isExtreme(kernel.sortBound, kernel.evictBound)) unknownInWindow += 1
        window.append(bufferedRow.asInstanceOf[UnsafeRow], kernel.sortBound, kernel.evictBound)
      } else {
        // Dead on arrival: never stored.
        evicted += 1
      }
      readBuffered()
    }

  private def evict(index: Int): Unit = {
    if (unknownInWindow > 0 && isExtreme(window.sortBound(index), window.evictBound(index))) {
      unknownInWindow -= 1
    }
    window.evict(index)
    evicted += 1
  }

  private def mayBeUnknown(index: Int): Boolean =
    streamedUnknown ||
      (unknownInWindow > 0 && isExtreme(window.sortBound(index), window.evictBound(index)))

  private def isExtreme(sortBound: Long, evictBound: Long): Boolean =
    sortBound == Long.MinValue || evictBound == Long.MaxValue

  /** Reads the next buffered row that can match anything at all. */
  private def readBuffered(): Unit = {
    bufferedRow = null
    while (bufferedRow == null && buffered.hasNext) {
      val row = buffered.next()
      if (kernel.loadBuffered(row)) bufferedRow = row
    }
  }

  /** Releases the window and reports the metrics; the second call does nothing. */
  override def close(): Unit = if (!closed) {
    closed = true
    scanning = false
    bufferedRow = null
    metrics.report(candidates, evicted, window)
    window.close()
  }
}
