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

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, UnsafeRow}
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.join.CandidateScanner
import org.apache.spark.sql.rangejoin.sort.GroupedRows

/**
 * Scans for one streamed row after the other: for every join type but full outer. `nextStreamed`
 * stops at rows that have no candidates, too, if the join visits all of them.
 *
 * A side that is in order by key alone is put in order by its bound only as far as that is needed
 * ([[GroupedRows]]): of a group with few buffered rows the window has all, and they and the streamed
 * rows are taken as they come (`gather`). The order of either side is asked for where there are more.
 */
final class StreamedRangeScanner(
    streamed: Iterator[InternalRow],
    buffered: Iterator[InternalRow],
    parts: ScannerParts,
    behavior: JoinTypeBehavior
) extends RangeScanner(parts)
    with CandidateScanner {
  import RangeScanner.Candidate
  import StreamedRangeScanner._

  // The sides whose rows of a key may be had in any order; null for the others.
  private[this] val streamedGroups = inAnyOrder(streamed, parts.keys)
  private[this] val bufferedGroups = inAnyOrder(buffered, parts.keys)
  private[this] val gathers = streamedGroups != null || bufferedGroups != null
  private[this] val visitsAll = behavior.visitsAllStreamed
  private[this] var started = false
  private[this] var scanning = false
  // Whether a streamed row without a match stands alone.
  private[this] var isAlone = false
  // Whether the thread that found the current candidate is the only one that uses the window.
  private[this] var isUsedAlone = false

  override def currentStreamed: InternalRow = streamedRow

  override def currentCandidate: UnsafeRow = if (isAlone) null else windowRow

  override def isScanning: Boolean = scanning

  /** As declared; everything is released when there is none. */
  override def nextStreamed(): Boolean = {
    window.enter()
    try findStreamed()
    finally endUse()
  }

  private def findStreamed(): Boolean = {
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
        isAlone = false
        if (kernel.loadStreamed(streamedRow) && findGroup()) {
          readBounds()
          window.settle()
          if (!isGathered) admit()
          cursor = window.head
          scanning = visitsAll || (if (isGathered) !closed && hasNear() else cursor < window.tail)
        } else {
          cursor = Int.MaxValue
          scanning = visitsAll
        }
      }
    }
    if (closed) release()
    scanning
  }

  override def nextCandidate(): Boolean = {
    window.enter()
    try {
      isUsedAlone = window.isUsedAlone
      scanning = scanning && !closed && (stepOn(windowRow) || find())
      scanning
    } finally endUse()
  }

  /** As declared; the inner loop is left before another thread goes on with the scan. */
  override def step(): Boolean = step(windowRow)

  override def step(row: UnsafeRow): Boolean =
    // As a use would be, but for the request that it would meet as it ends: the next one does.
    if (isUsedAlone) stepOn(row) else stepInTurn(row)

  private def stepInTurn(row: UnsafeRow): Boolean = {
    window.enter()
    try stepOn(row)
    finally endUse()
  }

  override def beginSteps(row: UnsafeRow): Unit = CandidateScanner.pointTo(row, windowRow)

  override def keepStep(row: UnsafeRow): Unit = CandidateScanner.pointTo(windowRow, row)

  private def find(): Boolean = {
    endSteps()
    val found = visit(keepsUnmatched = false) == Candidate
    if (found) beginSteps()
    found
  }

  override protected def noCandidate(): Unit = isAlone = true

  override protected def holds(condition: BasePredicate, pair: InternalRow): Boolean =
    if (behavior.stopsAtMatch) errors.holds(condition, pair) else condition.eval(pair)

  /**
   * Moves the buffered side to the key of the streamed row; false when it has no such key, or the
   * streamed row that is the first by its bound has none.
   */
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
      if (groupOpen) {
        kernel.openGroup()
        if (gathers) return gather()
      }
    }
    groupOpen
  }

  /**
   * Takes all rows of the group into the window, if they are few, and has it put in order if not. False
   * where the streamed row matches nothing, or the scanner was closed meanwhile: the memory of the
   * window is no longer its own then.
   */
  private def gather(): Boolean = {
    var isInGroup = true
    while (isInGroup && !closed && window.size < FewRows) {
      store()
      readBuffered()
      isInGroup = bufferedRow != null && kernel.bufferedInGroup()
    }
    isGathered = !isInGroup && !closed
    isGathered || putInOrder()
  }

  /** Has what is left of the group on either side come in order; there may be another streamed row. */
  private def putInOrder(): Boolean = {
    if (bufferedGroups != null && !closed) {
      bufferedGroups.sortGroup(windowRows, bufferedRow.asInstanceOf[UnsafeRow])
      if (!closed) emptyWindow()
      readBuffered()
    }
    if (streamedGroups != null && !closed) {
      streamedGroups.sortGroup(Iterator.empty, streamedRow.asInstanceOf[UnsafeRow])
      streamedRow = streamedGroups.next()
      kernel.loadStreamed(streamedRow)
    } else !closed
  }

  /** The rows of the window, each valid until the next. */
  private def windowRows: Iterator[UnsafeRow] = Iterator
    .iterate(window.nextRow(window.head))(i => window.nextRow(i + 1))
    .takeWhile(_ < window.tail)
    .map { i =>
      window.read(i, windowRow)
      windowRow
    }

  private def admit(): Unit =
    while (!closed && bufferedRow != null && kernel.bufferedInGroup() && admits) {
      // A row that is dead on arrival is never stored.
      if (isDeadOnArrival) evicted += 1 else append(keepsUnmatched = false)
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

  override protected def release(): Unit = {
    scanning = false
    endSteps()
    super.release()
  }
}

private[scan] object StreamedRangeScanner {

  /** A group of so many buffered rows need not be in order: to look at all of them costs no more. */
  private final val FewRows = 16

  /** A side whose rows come in groups of one key, and from now on in any order; null if it is none. */
  private[scan] def inAnyOrder(side: Iterator[InternalRow], keys: Int): GroupedRows = side match {
    case groups: GroupedRows if groups.columnsInCommon == keys =>
      groups.takeInAnyOrder()
      groups
    case _ => null
  }
}
