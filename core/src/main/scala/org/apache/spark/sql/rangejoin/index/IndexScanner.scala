// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  JoinedRow,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.aggregate.{RunAggregates, RunScanner}
import org.apache.spark.sql.rangejoin.best.StreamedPoint
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.join.PairTests

/**
 * Scans an index for one streamed row after the other, which may come in any order. If the join visits all streamed
 * rows, `nextStreamed` also stops at rows without candidates.
 *
 * @param keyOf the key of a streamed row; null where there are no keys
 * @param boundsOf the lower and the upper bound of a streamed row
 * @param evaluatesKeys whether keys of streamed rows are evaluated; there may be no need if the
 *   index has no rows
 * @param point what the best candidates are compared with; None where they are not
 * @param secondOf the lower and the upper bound of a streamed row by a second range; null where there is none
 */
final class IndexScanner(
    streamed: Iterator[InternalRow],
    cursor: RangeCursor,
    keyOf: UnsafeProjection,
    boundsOf: UnsafeProjection,
    tests: PairTests,
    behavior: JoinTypeBehavior,
    evaluatesKeys: Boolean,
    point: Option[Expression],
    secondOf: UnsafeProjection
) extends RunScanner {
  private[this] val visitsAll = behavior.visitsAllStreamed
  private[this] val readsStreamed = visitsAll || keyOf == null || evaluatesKeys
  private[this] val stopsAtMatch = behavior.stopsAtMatch
  private[this] val condition = tests.condition
  private[this] val upperByValue = tests.upperByValue.orNull
  private[this] val lowerByValue = tests.lowerByValue.orNull
  private[this] val pair = new JoinedRow
  private[this] val pointOf = point.map(new StreamedPoint(_)).orNull

  private[this] var streamedRow: InternalRow = _
  private[this] var candidate: UnsafeRow = _
  private[this] var scanning = false

  override def currentStreamed: InternalRow = streamedRow

  override def currentCandidate: UnsafeRow = candidate

  override def isMatch: Boolean = cursor.isUndecided

  override def isScanning: Boolean = scanning

  override def nextStreamed(): Boolean = {
    scanning = false
    while (!scanning && readsStreamed && streamed.hasNext) {
      streamedRow = streamed.next()
      begin()
      scanning = seek() || visitsAll
    }
    scanning
  }

  /** Goes to the rows in reach of the streamed row; false where its key has none. */
  private def seek(): Boolean = {
    val found =
      if (evaluatesKeys) seekKey(keyOf(streamedRow))
      else if (keyOf == null) cursor.seek()
      else cursor.skip()
    if (found && cursor.isSearched) {
      val bounds = boundsOf(streamedRow)
      if (!bounds.anyNull) {
        if (pointOf != null) cursor.aim(pointOf(streamedRow))
        if (secondOf != null && cursor.wantsSecond()) {
          val second = secondOf(streamedRow)
          if (!second.anyNull) cursor.aimSecond(second.getLong(0), second.getLong(1))
        }
        cursor.search(bounds.getLong(0), bounds.getLong(1))
        while (cursor.asks()) {
          val test = if (cursor.asksUpper) upperByValue else lowerByValue
          cursor.answer(test.eval(pair(streamedRow, cursor.row)))
        }
      } else {
        cursor.skip()
      }
    }
    found
  }

  private def seekKey(key: UnsafeRow): Boolean =
    if (key.anyNull) cursor.skip() else cursor.seek(key)

  override def nextCandidate(): Boolean = {
    candidate = null
    while (candidate == null && cursor.next()) {
      if (!cursor.isUndecided || holds(pair(streamedRow, cursor.row))) candidate = cursor.row
    }
    scanning = candidate != null
    scanning
  }

  override def step(): Boolean = step(cursor.row)

  override def step(row: UnsafeRow): Boolean = cursor.step(row)

  /**
   * Marks all candidates of the streamed row at once; false if they have to be visited one by one.
   */
  def markRun(marks: MatchMarks): Boolean = cursor.markRun(marks)

  override def aggregateRun(runs: RunAggregates): Int = cursor.aggregateRun(runs)

  /** The index of the current candidate among all rows. */
  def rowIndex: Int = cursor.rowIndex

  /** Nothing to do: the cursor keeps it itself. */
  override def keepStep(row: UnsafeRow): Unit = ()

  override def markMatched(): Unit = {
    super.markMatched()
    cursor.take()
  }

  override protected def noCandidate(): Unit = candidate = null

  private def holds(pair: InternalRow): Boolean =
    if (stopsAtMatch) errors.holds(condition, pair) else condition.eval(pair)
}
