// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.executor.TaskMetrics
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, JoinedRow, UnsafeRow}
import org.apache.spark.sql.rangejoin.kernel.RangeJoinKernel
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * The loop of the range join. Both sides come sorted by key; within a key the streamed side by its
 * lower bound and the buffered side by its sort bound. For each streamed row:
 *
 * {{{
 *   admit   buffered rows of the key while  sortBound <= upper
 *             each after rows at the head with  evictBound < lower  were evicted
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
 * candidate only where the original condition of the join says so. Where bounds are prefixes, a
 * pair of equal ones is decided by the values ([[PairTests]]).
 *
 * This class has the current rows, their bounds and the upkeep of the window. How the window is scanned is
 * in [[OrderedRangeScanner]]: as above; and in [[GatheringScanner]]: a window that has all rows of a small
 * group, in any order. Which streamed row comes next, and what becomes of rows without a match, is in
 * [[StreamedRangeScanner]] and [[BufferedPreservingScanner]]. Not here: the residual condition, join output,
 * memory.
 *
 * The calls of a scanner come one after the other, in any thread; between two calls other consumers of the task may have
 * the memory of the window, but for the current candidate.
 */
abstract class RangeScanner(parts: ScannerParts) extends AutoCloseable {
  import parts.{bufferedFields, metrics, tests}

  protected[this] val kernel: RangeJoinKernel = parts.kernel
  protected[this] val window: RangeWindow = parts.window

  protected[this] var streamedRow: InternalRow = _
  // The buffered row read last, not yet admitted; null when there is none left.
  protected[this] var bufferedRow: InternalRow = _
  protected[this] var groupOpen = false
  // Set by the thread that ends the scan, which may be another than the one that is in a call.
  @volatile protected[this] var closed = false
  private[this] var released = false

  // The scan of the current streamed row: the next index to visit, and the one visited last.
  protected[this] var cursor = 0
  protected[this] var visited = 0
  protected[this] var lower = 0L
  protected[this] var upper = 0L

  protected[this] val windowRow = new UnsafeRow(bufferedFields)
  private[this] val pair = new JoinedRow
  private[this] val condition = tests.condition
  private[this] val unknown = tests.unknown
  // Null where the longs decide.
  private[this] val upperByValue = tests.upperByValue.orNull
  private[this] val lowerByValue = tests.lowerByValue.orNull
  // Rows of the window with a bound that may be unknown; mostly there are none.
  private[this] var unknownInWindow = 0
  protected[this] var streamedUnknown = false
  // Whether the bounds did not decide about the candidate visited last.
  protected[this] var asked = false

  protected[this] var candidates = 0L
  protected[this] var evicted = 0L

  /** The current streamed row; null where the current buffered row has no match. */
  def currentStreamed: InternalRow

  /**
   * The candidate found last, valid until the next call of the scanner; null where the current
   * streamed row has no match.
   */
  def currentCandidate: UnsafeRow

  /** Whether the condition of the join was evaluated for the current candidate, and holds. */
  def isMatch: Boolean = asked

  /** Says that the current candidate is a match. */
  def markMatched(): Unit

  /** Takes up the bounds of the streamed row. */
  protected def readBounds(): Unit = {
    lower = kernel.lower
    upper = kernel.upper
    streamedUnknown = unknown.inStreamed(lower, upper)
    asked = false
  }

  /** Whether the buffered row read last is within reach of the streamed row. */
  protected def admits: Boolean = {
    val bound = kernel.sortBound
    bound < upper || (bound == upper &&
      (upperByValue == null || upperByValue.eval(pair(streamedRow, bufferedRow))))
  }

  /** Whether the buffered row read last matches neither the streamed row nor a later one. */
  protected def isDeadOnArrival: Boolean = isBelow(kernel.evictBound, bufferedRow)

  /** Adds the buffered row read last to the window. */
  protected def store(): Unit = {
    if (unknown.inBuffered(kernel.sortBound, kernel.evictBound)) unknownInWindow += 1
    window.append(bufferedRow.asInstanceOf[UnsafeRow], kernel.sortBound, kernel.evictBound)
  }

  /**
   * Goes on with the scan, from `cursor`.
   *
   * @param preservesOwner whether to stop at a row that would leave the window without a match
   * @return what is at `visited`: a `Candidate`, which `windowRow` points at, or a row that has to
   *   leave the window `Unmatched`; or that the scan is at its `End`
   */
  protected def visit(preservesOwner: Boolean): Int

  /**
   * Reads the row at `visited`, which is within the bounds. A pair about which they may not decide is a
   * candidate only where the condition of the join holds.
   */
  protected def readCandidate(): Boolean = {
    window.read(visited, windowRow)
    candidates += 1
    asked = streamedUnknown || isUnknown(visited)
    !asked || holds(condition, pair(streamedRow, windowRow))
  }

  /** Whether the longs decide about every pair of a known streamed row with a row of the window. */
  protected def longsDecide: Boolean = !anyUnknown && upperByValue == null && lowerByValue == null

  /** Whether a row of the window has a bound that may be unknown. */
  protected def anyUnknown: Boolean = unknownInWindow > 0

  /** Whether the original condition holds for a streamed row and a buffered row. */
  protected def holds(condition: BasePredicate, pair: InternalRow): Boolean = condition.eval(pair)

  protected def isBeyond(index: Int): Boolean = {
    val bound = window.sortBound(index)
    bound > upper || (bound == upper && upperByValue != null && {
      window.read(index, windowRow)
      !upperByValue.eval(pair(streamedRow, windowRow))
    })
  }

  protected def leaves(index: Int): Boolean = {
    val bound = window.evictBound(index)
    if (bound == lower && lowerByValue != null) window.read(index, windowRow)
    isBelow(bound, windowRow)
  }

  private def isBelow(evictBound: Long, row: InternalRow): Boolean =
    evictBound < lower ||
      (evictBound == lower && lowerByValue != null && !lowerByValue.eval(pair(streamedRow, row)))

  protected def evict(index: Int): Unit = {
    if (isUnknown(index)) unknownInWindow -= 1
    window.evict(index)
    evicted += 1
  }

  protected def clearWindow(): Unit = {
    groupOpen = false
    emptyWindow()
  }

  protected def emptyWindow(): Unit = {
    unknownInWindow = 0
    window.clear()
  }

  private def isUnknown(index: Int): Boolean = unknownInWindow > 0 &&
    unknown.inBuffered(window.sortBound(index), window.evictBound(index))

  /**
   * Releases the window and reports the metrics. The task may end while another thread is in a call of the scanner,
   * which then ends soon, and releases what it took meanwhile.
   */
  override def close(): Unit = {
    closed = true
    release()
  }

  /** Releases the window, and with it what is on disk. */
  protected def release(): Unit = synchronized {
    if (!released) {
      released = true
      bufferedRow = null
      metrics.report(candidates, evicted, window)
    }
    window.close()
  }

  /** Reports what the window took, after it was closed. */
  def reportMemory(task: TaskMetrics): Unit = {
    task.incPeakExecutionMemory(window.peakMemory)
    task.incMemoryBytesSpilled(window.spilledBytes)
    task.incDiskBytesSpilled(window.spillSize)
  }
}

private object RangeScanner {

  /** The scan has visited all it had to. */
  final val End = 0

  /** The row visited is a candidate. */
  final val Candidate = 1

  /** The row visited has to leave the window, and has found no match. */
  final val Unmatched = 2
}
