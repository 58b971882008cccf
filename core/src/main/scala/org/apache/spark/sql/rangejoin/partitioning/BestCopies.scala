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

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.reduce.{BestOrder, BestRows}

/**
 * Copies rows of the other side to buckets where each row of the owner wants its best matches alone, in a range
 * without an end: all rows of earlier buckets match it, but no more than the best of them are wanted.
 *
 * {{{
 *   bucket                0           1            2             3
 *   rows                  a b c       d e          f g h         i
 *   copies, r.t <= l.t    -           c            e             h         of the greatest
 * }}}
 *
 * So a row goes to its own bucket as it is read, and in the end each bucket gets the best rows of the buckets before it.
 * They are those of one map task: a bucket has as many copies as there are tasks and ranks.
 *
 * Rows of which it is not known where they are go to all buckets, and so do wanted ones that come when much has
 * been kept.
 *
 * @param columns what is read of a row: the bound of the range, and its value
 * @param mayBeUnknown whether a bound at the extreme may be unknown
 */
final class BestCopies(
    layout: BucketLayout,
    columns: KeyedColumns,
    order: BestOrder,
    mayBeUnknown: Boolean,
    numCopies: SQLMetric,
    numRows: SQLMetric
) {
  import BestCopies._

  private val project = columns.projection()
  private val cells = new RowCells(columns.bounds, isOwner = false)
  // A range with a low end reaches to the last bucket; with a high end to the first.
  private val rises = columns.bounds.low.isDefined
  private val boundAt = columns.bounds.all.head
  private val kept = new Array[BestRows](layout.numBuckets)
  private var bytes = 0L

  /**
   * The rows as they leave for their buckets.
   *
   * @param placed a row with the id of its bucket, which is its last column
   */
  def of(
      rows: Iterator[InternalRow],
      placed: (InternalRow, Int) => UnsafeRow): Iterator[InternalRow] =
    rows.flatMap(read(_, placed)) ++ bestOfOthers

  private def read(
      row: InternalRow,
      placed: (InternalRow, Int) => UnsafeRow): Iterator[UnsafeRow] = {
    val columnsOfRow = project(row)
    if (columns.hasNull(columnsOfRow)) Iterator.empty
    else {
      cells.find(layout.cells, columnsOfRow)
      val first = layout.firstBucket(0, cells.first)
      val last = layout.lastBucket(0, cells.first, cells.last)
      val bound = columnsOfRow.getLong(boundAt)
      val own = if (rises) first else last
      val isWanted = kept(own) == null || kept(own).isWanted(bound)
      if ((!mayBeUnknown || isKnown(bound)) && (!isWanted || bytes < MostBytes)) {
        val out = placed(row, layout.id(own))
        if (isWanted) keep(own, bound, out.copy())
        Iterator.single(out)
      } else {
        numCopies += last - first
        Iterator.range(first, last + 1).map(bucket => placed(row, layout.id(bucket)))
      }
    }
  }

  private def isKnown(bound: Long): Boolean = bound != Long.MinValue && bound != Long.MaxValue

  private def keep(bucket: Int, bound: Long, row: UnsafeRow): Unit = {
    if (kept(bucket) == null) kept(bucket) = new BestRows(order)
    bytes += kept(bucket).add(bound, row)
  }

  private def bestOfOthers: Iterator[UnsafeRow] = {
    val best = new BestRows(order)
    val buckets = kept.indices.iterator
    (if (rises) buckets else buckets.map(kept.length - 1 - _)).flatMap { bucket =>
      val copies = best.rows.toArray
      if (kept(bucket) != null) best.addAll(kept(bucket))
      numCopies += copies.length
      numRows += copies.length
      copies.iterator.map { copy =>
        copy.setInt(copy.numFields - 1, layout.id(bucket))
        copy
      }
    }
  }
}

object BestCopies {

  /** A task of a join of wide rows or many ranks is not to run out of memory for it. */
  private val MostBytes = 4L << 20

  /** Rows may be wider than their types say. */
  private val Slack = 4

  /**
   * Whether there is surely room for the best rows of some buckets, so that buckets may be as narrow as if nothing
   * were copied.
   *
   * @param rowBytes of a row, by its types
   */
  def fit(order: BestOrder, buckets: Int, rowBytes: Long): Boolean =
    !order.keepsTies && order.limit.toLong * buckets * rowBytes * Slack <= MostBytes
}
