// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.index._
import org.apache.spark.sql.rangejoin.join.{JoinOutput, RangeJoinIterator}
import org.apache.spark.{HashPartitioner, TaskContext}

/**
 * Joins whose broadcast side has rows that come out without a match, or is all that comes out. No task
 * knows by itself which of these rows have a match, so
 *
 * {{{
 *   streamed ──▶ pairs (outer joins) ─────────────────────────────┐
 *   streamed ──▶ marks of a task ──shuffle──▶ marks ──▶ index rows ┴──▶ rows of the join
 * }}}
 *
 * Every task marks the rows of the index that its streamed rows match, one bit a row. The bits are shuffled by slices
 * of the index, and the task that reads a slice merges them and returns the wanted rows of the slice, each once. A
 * shuffle takes the marks of one attempt of each task, so that retries and speculation change nothing. The rows
 * themselves are in the broadcast already.
 *
 * Cost: that of the same join without marks (twice that in outer joins, which read the streamed side twice, as stock
 * Spark does), plus a shuffle of one bit per index row and task. All of it runs when the rows of the join are
 * requested; stock Spark runs a separate job for semi, anti and existence joins as soon as the plan is executed, and
 * sends their rows through the driver.
 */
private[broadcast] object MarkedRows {

  /** Rows of the index per slice; one task returns the rows of a slice. */
  private val RowsOfSlice = 1 << 18
  private val WordsOfSlice = RowsOfSlice / 64

  def join(streamed: RDD[InternalRow], task: MarkingTask): RDD[InternalRow] = {
    val rest = ofIndex(streamed, task)
    if (task.behavior.emission != EveryPair) rest
    else streamed.sparkContext.union(streamed.mapPartitions(task.pairs), rest)
  }

  /** The rows of the index that come out once all streamed rows have been seen. */
  private def ofIndex(streamed: RDD[InternalRow], task: MarkingTask): RDD[InternalRow] = {
    val rows = task.cursors.index.value.sizeOfAll
    // At least one slice, even of an empty index: otherwise the shuffle would have no task.
    val slices = math.max(1, (rows + RowsOfSlice - 1L) / RowsOfSlice).toInt
    val marks = streamed.mapPartitions(task.marks(_).slices(WordsOfSlice))
    new ShuffledRDD[Int, Array[Long], Array[Long]](marks, new HashPartitioner(slices))
      .mapPartitionsWithIndex { (slice, marks) =>
        task.rowsOfSlice(slice * RowsOfSlice, RowsOfSlice, marks.map(_._2))
      }
  }
}

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
    context.addTaskCompletionListener[Unit] { context =>
      context.taskMetrics().incPeakExecutionMemory(memory.peakBytes)
      memory.close()
    }
  }
}

/** Rows of a part of the index, by their marks. */
private[broadcast] final class IndexRowIterator(
    index: RangeIndex,
    first: Int,
    end: Int,
    marks: MatchMarks,
    emission: Emission,
    output: JoinOutput
) extends RangeJoinIterator(output.numOutputRows) {
  private[this] val row = new UnsafeRow(index.fields)
  private[this] val flag = if (emission == BufferedFlag) new GenericInternalRow(1) else null
  private[this] var next = first

  override protected def findNext(): InternalRow = {
    while (next < end && !isWanted(marks.isMarked(next - first))) next += 1
    if (next == end) null
    else {
      index.readAny(next, row)
      if (flag != null) flag.setBoolean(0, marks.isMarked(next - first))
      next += 1
      // The flag of an existence join stands where the streamed row would.
      output(flag, row)
    }
  }

  private def isWanted(marked: Boolean): Boolean = emission match {
    case BufferedFlag           => true
    case BufferedRow(ifMatched) => marked == ifMatched
    case _                      => !marked
  }
}
