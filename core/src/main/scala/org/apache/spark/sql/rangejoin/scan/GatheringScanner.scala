// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.RunAggregates
import org.apache.spark.sql.rangejoin.best.BestScan
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.sort.GroupedRows

/**
 * Scans for sides of which at least one is in order by key alone, and puts them in order by their bounds only as far as
 * that is needed. Of a group with few buffered rows the window has all, in any order, and the streamed rows come as
 * they are: each scan visits the whole window. For a group with more rows both sides are put in order, and it is
 * scanned as any other.
 *
 * @param streamedGroups the streamed side, if it can return the rows of a key in any order; else null
 * @param bufferedGroups the buffered side, likewise
 */
final class GatheringScanner private[scan] (
    streamed: Iterator[InternalRow],
    buffered: Iterator[InternalRow],
    parts: ScannerParts,
    behavior: JoinTypeBehavior,
    streamedGroups: GroupedRows,
    bufferedGroups: GroupedRows
) extends StreamedRangeScanner(streamed, buffered, parts, behavior) {
  import GatheringScanner.FewRows
  import RangeScanner.{Candidate, End}

  // Whether the window has all rows of its group, in any order.
  private[this] var isGathered = false
  // Whether the candidates of the streamed row are those that are within the longs of its bounds.
  private[this] var areByLongs = false

  override protected def readBounds(): Unit = {
    super.readBounds()
    areByLongs = longsDecide && !streamedUnknown
  }

  override protected def admit(): Unit = if (!isGathered) super.admit()

  override protected def beginBest(best: BestScan, point: Long): Unit =
    if (isGathered) best.switchOff() else super.beginBest(best, point)

  override def mayBeRun: Boolean = !isGathered

  override protected def aggregateWindow(runs: RunAggregates): Int =
    if (isGathered) -1 else super.aggregateWindow(runs)

  override protected def mayHaveCandidates: Boolean =
    if (isGathered) !closed && hasNear() else super.mayHaveCandidates

  override protected def visit(preservesOwner: Boolean): Int =
    if (isGathered) visitGathered() else super.visit(preservesOwner)

  /** No row ends this scan, and none leaves. */
  private def visitGathered(): Int = {
    while (hasNear()) {
      val index = cursor
      cursor = index + 1
      if (!isBeyond(index) && !leaves(index)) {
        visited = index
        if (readCandidate()) return Candidate
      }
    }
    End
  }

  /** Moves the cursor to a row that may be a candidate; false if there is none. */
  private def hasNear(): Boolean = {
    cursor =
      if (window.isContiguous) window.firstWithin(cursor, lower, upper) else window.nextRow(cursor)
    cursor < window.tail
  }

  override protected def stepOn(row: UnsafeRow): Boolean =
    if (isGathered) areByLongs && window.isContiguous && stepToNear(row) else super.stepOn(row)

  private def stepToNear(row: UnsafeRow): Boolean = hasNear() && {
    visited = cursor
    cursor = visited + 1
    window.read(visited, row)
    candidates += 1
    asked = false
    true
  }

  /**
   * Takes all rows of the group into the window, if they are few, and has it put in order if not. False
   * where the streamed row matches nothing, or the scanner was closed meanwhile: the memory of the
   * window is no longer its own then.
   */
  override protected def beginGroup(): Boolean = {
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
    if (bufferedGroups != null && !bufferedGroups.isInOrder && !closed) {
      bufferedGroups.sortGroup(windowRows, bufferedRow.asInstanceOf[UnsafeRow])
      if (!closed) emptyWindow()
      readBuffered()
    }
    if (streamedGroups != null && !streamedGroups.isInOrder && !closed) {
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

  override protected def emptyWindow(): Unit = {
    isGathered = false
    super.emptyWindow()
  }
}

private[scan] object GatheringScanner {

  /** Up to this many buffered rows of a group need no order: looking at all costs no more. */
  private final val FewRows = 16

  /** A side whose rows come in groups of one key, and from now on in any order; null if it is none. */
  def inAnyOrder(side: Iterator[InternalRow], keys: Int): GroupedRows = side match {
    case groups: GroupedRows if groups.columnsInCommon == keys =>
      groups.takeInAnyOrder()
      groups
    case _ => null
  }
}
