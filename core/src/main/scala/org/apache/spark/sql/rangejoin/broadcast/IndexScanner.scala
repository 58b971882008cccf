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

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BasePredicate,
  Expression,
  JoinedRow,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.index.{RangeCursor, RangeIndex}
import org.apache.spark.sql.rangejoin.join.{CandidateScanner, PairTests}
import org.apache.spark.sql.rangejoin.kernel.{KernelSpec, RangeJoinKernel, RangeJoinKernelFactory}
import org.apache.spark.util.TaskCompletionListener

/**
 * Scans a broadcast index for one streamed row after the other, which may come in any order.
 *
 * @param keyOf the key of a streamed row; null where there are no keys
 * @param keepsStreamed whether `nextStreamed` stops at rows that have no candidates, too
 * @param stopsAtMatch whether the first match of a streamed row is all that is looked for
 */
final class IndexScanner(
    streamed: Iterator[InternalRow],
    cursor: RangeCursor,
    keyOf: UnsafeProjection,
    kernel: RangeJoinKernel,
    tests: PairTests,
    keepsStreamed: Boolean,
    stopsAtMatch: Boolean
) extends CandidateScanner {
  private[this] val condition = tests.condition
  private[this] val upperTie = tests.upperTie.orNull
  private[this] val lowerTie = tests.lowerTie.orNull
  private[this] val pair = new JoinedRow

  private[this] var streamedRow: InternalRow = _
  private[this] var candidate: UnsafeRow = _
  private[this] var scanning = false

  override def currentStreamed: InternalRow = streamedRow

  override def currentCandidate: UnsafeRow = candidate

  override def isScanning: Boolean = scanning

  override def nextStreamed(): Boolean = {
    scanning = false
    // Without rows in the index no key is evaluated.
    while (!scanning && (keepsStreamed || !cursor.isEmpty) && streamed.hasNext) {
      streamedRow = streamed.next()
      begin()
      scanning = seek() || keepsStreamed
    }
    scanning
  }

  /** Goes to the rows in reach of the streamed row; false where its key has none. */
  private def seek(): Boolean = {
    val found =
      if (cursor.isEmpty) cursor.skip()
      else if (keyOf == null) cursor.seek() else seekKey(keyOf(streamedRow))
    if (found && cursor.isSearched) {
      if (kernel.loadStreamed(streamedRow)) {
        cursor.search(kernel.lower, kernel.upper)
        while (cursor.asks()) {
          val test = if (cursor.asksUpper) upperTie else lowerTie
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
      if (!cursor.isUndecided || holds(condition, cursor.row)) candidate = cursor.row
    }
    scanning = candidate != null
    scanning
  }

  override protected def noCandidate(): Unit = candidate = null

  private def holds(condition: BasePredicate, row: UnsafeRow): Boolean =
    if (stopsAtMatch) {
      try condition.eval(pair(streamedRow, row))
      catch {
        case e: Throwable =>
          keepError(e)
          false
      }
    } else {
      condition.eval(pair(streamedRow, row))
    }
}

/** Makes the cursors of tasks, and reports what they have done. */
case class CursorFactory(index: Broadcast[RangeIndex], candidates: SQLMetric) {

  def create(): RangeCursor = {
    val relation = index.value
    val cursor = relation.cursor()
    TaskContext.get().taskMetrics().incPeakExecutionMemory(relation.estimatedSize)
    TaskContext.get().addTaskCompletionListener(new TaskCompletionListener {
      override def onTaskCompletion(context: TaskContext): Unit = candidates += cursor.candidates
    })
    cursor
  }
}

/**
 * What tasks need to make their scanner.
 *
 * @param keys of the streamed side, bound to it
 * @param kernel the bounds of both sides, without keys
 * @param condition the original condition, bound to the streamed row followed by the buffered row
 * @param upperTie what decides the upper test between equal prefixes, bound likewise
 * @param lowerTie likewise the lower test
 */
case class IndexScannerFactory(
    cursors: CursorFactory,
    keys: Seq[Expression],
    kernel: KernelSpec,
    condition: Expression,
    upperTie: Option[Expression],
    lowerTie: Option[Expression],
    behavior: JoinTypeBehavior
) {

  def create(streamed: Iterator[InternalRow]): IndexScanner = new IndexScanner(
    streamed,
    cursors.create(),
    if (keys.isEmpty) null else UnsafeProjection.create(keys),
    RangeJoinKernelFactory.createObject(kernel),
    PairTests.create(condition, upperTie, lowerTie),
    behavior.visitsAllStreamed,
    behavior.stopsAtMatch
  )
}
