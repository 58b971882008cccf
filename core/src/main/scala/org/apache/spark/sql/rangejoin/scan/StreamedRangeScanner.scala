// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, UnsafeRow}
import org.apache.spark.sql.rangejoin.aggregate.{RunAggregates, RunScanner}
import org.apache.spark.sql.rangejoin.best.{BestScan, RankPoint, StreamedPoint}
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.join.CandidateScanner

/**
 * Scans for one streamed row after the other: for every join type but full outer. If the join visits all streamed rows,
 * `nextStreamed` also stops at rows without candidates.
 *
 * Both sides come in order. Where one of them is in order by key alone, see [[GatheringScanner]].
 */
class StreamedRangeScanner private[scan] (
    streamed: Iterator[InternalRow],
    buffered: Iterator[InternalRow],
    parts: ScannerParts,
    behavior: JoinTypeBehavior
) extends OrderedRangeScanner(parts)
    with RunScanner {
  import RangeScanner.Candidate

  private[this] val visitsAll = behavior.visitsAllStreamed
  // Null where all matches of a streamed row are wanted.
  private[this] val best = parts.best.map(new BestScan(run, _)).orNull
  private[this] val pointOf =
    parts.best.flatMap(_.rankPoint).map(a => new StreamedPoint(a.point)).orNull
  private[this] var started = false
  private[this] var scanning = false
  // Whether a streamed row without a match stands alone.
  private[this] var isUnmatched = false

  override def currentStreamed: InternalRow = streamedRow

  override def currentCandidate: UnsafeRow = if (isUnmatched) null else windowRow

  override def isScanning: Boolean = scanning

  /** As declared; everything is released when there is none. */
  override def nextStreamed(): Boolean = {
    window.use()
    if (!started && !closed) {
      started = true
      // A side may be sorted as its first row is read, and need not be where the other one has none.
      if (streamed.hasNext) readBuffered() else closed = true
    }
    scanning = false
    while (!scanning && !closed) {
      if ((!visitsAll && bufferedRow == null && window.isEmpty) || !streamed.hasNext) {
        closed = true
      } else {
        streamedRow = streamed.next()
        begin()
        endSteps()
        isUnmatched = false
        if (kernel.loadStreamed(streamedRow) && findGroup()) {
          readBounds()
          window.settle()
          admit()
          if (best != null)
            beginBest(best, if (pointOf == null) RankPoint.Unknown else pointOf(streamedRow))
          cursor = window.head
          scanning = visitsAll || mayHaveCandidates
        } else {
          if (best != null) best.switchOff()
          cursor = Int.MaxValue
          scanning = visitsAll
        }
      }
    }
    if (closed) release()
    scanning
  }

  override def markMatched(): Unit = {
    super.markMatched()
    if (best != null) best.take()
  }

  override def nextCandidate(): Boolean = {
    window.use()
    scanning = scanning && !closed &&
      (if (best != null && best.isOn) findBest() else stepOn(windowRow) || find())
    if (closed) release()
    scanning
  }

  /** As declared; the inner loop is left before another thread goes on with the scan. */
  override def step(): Boolean = step(windowRow)

  override def step(row: UnsafeRow): Boolean = stepOn(row)

  override def beginSteps(row: UnsafeRow): Unit = CandidateScanner.pointTo(row, windowRow)

  override def keepStep(row: UnsafeRow): Unit = CandidateScanner.pointTo(windowRow, row)

  override def mayBeRun: Boolean = true

  override def aggregateRun(runs: RunAggregates): Int = {
    window.use()
    val matches = if (closed) 0 else aggregateWindow(runs)
    if (matches >= 0) scanning = false
    matches
  }

  private def findBest(): Boolean = best.next(windowRow) && {
    candidates += 1
    true
  }

  private def find(): Boolean = {
    endSteps()
    val found = visit(preservesOwner = false) == Candidate
    if (found) beginSteps()
    found
  }

  override protected def noCandidate(): Unit = isUnmatched = true

  override protected def holds(condition: BasePredicate, pair: InternalRow): Boolean =
    if (behavior.stopsAtMatch) errors.holds(condition, pair) else condition.eval(pair)

  /** Whether there is anything for a scan to visit that begins now. */
  protected def mayHaveCandidates: Boolean = cursor < window.tail

  /** Moves the buffered side to the key of the streamed row; false when the row matches nothing. */
  private def findGroup(): Boolean = {
    if (groupOpen && !kernel.streamedInGroup()) clearWindow()
    groupOpen || reachGroup()
  }

  private def reachGroup(): Boolean = {
    var comparison = 1
    while (bufferedRow != null && comparison > 0) {
      comparison = kernel.compareStreamedWithBuffered()
      if (comparison > 0) readBuffered()
    }
    groupOpen = bufferedRow != null && comparison == 0
    groupOpen && {
      kernel.openGroup()
      beginGroup()
    }
  }

  /**
   * Both sides are at the first row of a group. False where the streamed row matches nothing, or the scanner
   * was closed meanwhile.
   */
  protected def beginGroup(): Boolean = true

  /** Takes the rows into the window that are within reach of the streamed row. */
  protected def admit(): Unit =
    while (!closed && bufferedRow != null && kernel.bufferedInGroup() && admits) {
      // A row that is dead on arrival is never stored.
      if (isDeadOnArrival) evicted += 1 else append(preservesOwner = false)
      readBuffered()
    }

  /** Reads the next buffered row that can match anything at all. */
  protected def readBuffered(): Unit = {
    bufferedRow = null
    while (bufferedRow == null && buffered.hasNext) {
      val row = buffered.next()
      if (kernel.loadBuffered(row)) bufferedRow = row
    }
  }

  override protected def release(): Unit = {
    scanning = false
    endSteps()
    super.release()
  }
}

object StreamedRangeScanner {

  /** The scanner for these sides, by the order that their rows come in. */
  def apply(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow],
      parts: ScannerParts,
      behavior: JoinTypeBehavior
  ): StreamedRangeScanner = {
    val streamedGroups =
      if (parts.keepsOrder) null else GatheringScanner.inAnyOrder(streamed, parts.keys)
    val bufferedGroups = GatheringScanner.inAnyOrder(buffered, parts.keys)
    if (streamedGroups == null && bufferedGroups == null)
      new StreamedRangeScanner(streamed, buffered, parts, behavior)
    else
      new GatheringScanner(streamed, buffered, parts, behavior, streamedGroups, bufferedGroups)
  }
}
