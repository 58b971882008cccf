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
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, UnsafeRow}
import org.apache.spark.sql.rangejoin.codegen.{RangeBound, RangeJoinKernel}
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * Scans for one streamed row after the other: for every join type but full outer. Driven as
 *
 * {{{
 *   while (nextStreamed())
 *     while (nextCandidate()) ...       // or nextCandidateOrNone(), where unmatched rows are kept
 * }}}
 *
 * where both loops may be left at any time; `isScanning` says whether to go on with the inner one.
 *
 * A join that stops at the first match must not raise for a pair that stock Spark, whose rows of a
 * key come in another order, has no need to look at. An error of a pair is therefore kept until it is
 * known that the streamed row has no match, in which case stock looks at every pair as well.
 *
 * @param keepsStreamed whether `nextStreamed` stops at rows that have no candidates, too
 * @param stopsAtMatch whether the first match of a streamed row is all that is looked for
 */
final class StreamedRangeScanner(
    streamed: Iterator[InternalRow],
    buffered: Iterator[InternalRow],
    kernel: RangeJoinKernel,
    window: RangeWindow,
    bufferedFields: Int,
    tests: PairTests,
    metrics: ScanMetrics,
    keepsStreamed: Boolean,
    stopsAtMatch: Boolean
) extends RangeScanner(kernel, window, bufferedFields, tests, metrics) {
  import RangeScanner.End

  private[this] var started = false
  private[this] var scanning = false
  private[this] var candidate: UnsafeRow = _
  // Of a pair of the current streamed row.
  private[this] var keptError: Throwable = _

  override def currentStreamed: InternalRow = streamedRow

  override def currentCandidate: UnsafeRow = candidate

  override def markMatched(): Unit = matched = true

  /** Whether the scan of the current streamed row may have candidates left. */
  def isScanning: Boolean = scanning

  /**
   * Goes on to the next streamed row, or to the next that may have candidates, and begins its scan.
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
      if ((!keepsStreamed && bufferedRow == null && window.isEmpty) || !streamed.hasNext) {
        close()
      } else {
        streamedRow = streamed.next()
        matched = false
        keptError = null
        if (kernel.loadStreamed(streamedRow) && findGroup()) {
          readBounds()
          admit()
          cursor = window.head
          scanning = keepsStreamed || cursor < window.tail
        } else {
          cursor = Int.MaxValue
          scanning = keepsStreamed
        }
      }
    }
    scanning
  }

  /** Goes on to the next candidate for the current streamed row; false when there is none. */
  def nextCandidate(): Boolean = {
    scanning = scanning && visit(keepsUnmatched = false) != End
    candidate = windowRow
    scanning
  }

  /** Like `nextCandidate`, with one null candidate for a streamed row without a match. */
  def nextCandidateOrNone(): Boolean =
    nextCandidate() || {
      val none = !matched
      matched = true
      candidate = null
      none
    }

  override protected def holds(condition: BasePredicate, row: InternalRow): Boolean =
    if (stopsAtMatch) {
      try super.holds(condition, row)
      catch {
        case e: Throwable =>
          keepError(e)
          false
      }
    } else {
      super.holds(condition, row)
    }

  /** Keeps the error of a candidate, unless it is no error of the data. */
  def keepError(error: Throwable): Unit = {
    RangeBound.rethrowUnlessOfData(error)
    if (keptError == null) keptError = error
  }

  /** Raises what was kept: the current streamed row has no match. */
  def raiseKeptError(): Unit = if (keptError != null) throw keptError

  /** Moves the buffered side to the key of the streamed row; false when it has no such key. */
  private def findGroup(): Boolean = {
    if (groupOpen && !kernel.streamedInGroup()) {
      clearWindow()
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

  private def admit(): Unit =
    while (bufferedRow != null && kernel.bufferedInGroup() && admits) {
      // A row that is dead on arrival is never stored.
      if (isDeadOnArrival) evicted += 1 else append()
      readBuffered()
    }

  /** Reads the next buffered row that can match anything at all. */
  private def readBuffered(): Unit = {
    bufferedRow = null
    while (bufferedRow == null && buffered.hasNext) {
      val row = buffered.next()
      if (kernel.loadBuffered(row)) bufferedRow = row
    }
  }

  override def close(): Unit = {
    scanning = false
    super.close()
  }
}
