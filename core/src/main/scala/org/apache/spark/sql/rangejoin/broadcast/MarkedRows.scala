// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.HashPartitioner
import org.apache.spark.rdd.{RDD, ShuffledRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.condition._

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
