// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.index._
import org.apache.spark.sql.rangejoin.join.{JoinOutput, RangeJoinIterator}
import org.apache.spark.util.TaskCompletionListener

/** What a task needs, whether it returns pairs, marks or rows of the index. */
private[broadcast] case class MarkingTask(
    scanners: IndexScannerFactory,
    cursors: CursorFactory,
    behavior: JoinTypeBehavior,
    newOutput: () => JoinOutput
) {
  private def index: RangeIndex = cursors.index.value

  /** Every pair that matches and, in a full outer join, streamed rows without a match. */
  def pairs(streamed: Iterator[InternalRow]): Iterator[InternalRow] =
    RangeJoinIterator(scanners.create(streamed, cursors.create()), behavior, newOutput())

  /** The rows of the index that match a streamed row. */
  def marks(streamed: Iterator[InternalRow]): MatchMarks = {
    MarkingTask.account(MatchMarks.bytesOf(index.size))
    val marks = new MatchMarks(index.size)
    // Candidates are counted once, where pairs come out.
    val ofPairs = behavior.emission == EveryPair
    val uncounted = if (ofPairs) cursors.copy(candidates = None) else cursors
    val scanner =
      scanners.copy(behavior = MarkingTask.OfMatches).create(streamed, uncounted.create())
    mark(scanner, newOutput(), marks)
    marks
  }

  /**
   * Stock Spark evaluates the condition for every pair, even if the row has a match already, and so may raise.
   */
  private def mark(scanner: IndexScanner, output: JoinOutput, marks: MatchMarks): Unit = {
    val context = TaskContext.get()
    var steps = 0
    while (scanner.nextStreamed()) {
      if (!output.matchesAll || !scanner.markRun(marks)) {
        while (scanner.nextCandidate()) {
          if (scanner.isMatch ||
            output.matches(scanner.currentStreamed, scanner.currentCandidate)) {
            marks.mark(scanner.rowIndex)
          }
          steps += 1
          // No row is requested in between, where Spark would notice that the task is to end.
          if ((steps & 0xffff) == 0) context.killTaskIfInterrupted()
        }
      }
      steps += 1
      if ((steps & 0xffff) == 0) context.killTaskIfInterrupted()
    }
  }

  /** The rows of the index from a position on that are wanted, by the marks of all tasks. */
  def rowsOfSlice(
      first: Int,
      length: Int,
      ofTasks: Iterator[Array[Long]]
  ): Iterator[InternalRow] = {
    val marks = new MatchMarks(length)
    ofTasks.foreach(marks.add)
    val end = math.min(first.toLong + length, index.sizeOfAll.toLong).toInt
    new IndexRowIterator(index, first, end, marks, behavior.emission, newOutput())
  }
}

private object MarkingTask {

  /** Streamed rows without candidates are of no interest. */
  private val OfMatches = JoinTypeBehavior(None, EveryPair)

  /**
   * Accounts for the marks in the memory of the task, so that other consumers make room. If there is none, the marks
   * are made all the same: a bit for each row of the index, which is on the heap with the row.
   */
  private def account(bytes: Long): Unit = {
    val context = TaskContext.get()
    val memory = new TaskIndexMemory(context.taskMemoryManager(), Long.MaxValue)
    memory.acquire(bytes)
    context.addTaskCompletionListener(new TaskCompletionListener {
      override def onTaskCompletion(context: TaskContext): Unit = {
        context.taskMetrics().incPeakExecutionMemory(memory.peakBytes)
        memory.close()
      }
    })
  }
}
