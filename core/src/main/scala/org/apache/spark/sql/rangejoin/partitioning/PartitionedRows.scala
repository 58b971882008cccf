// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.util.MutablePair

/**
 * Rows with their partitions; a row comes once for each.
 *
 * @param copiesRows whether a row has to stay what it is when the next one is asked for
 */
private[rangejoin] final class PartitionedRows(
    rows: Iterator[InternalRow],
    assignment: RowAssignment,
    copiesRows: Boolean,
    copies: SQLMetric
) extends Iterator[Product2[Int, InternalRow]] {
  private val pair = new MutablePair[Int, InternalRow]()
  private var row: InternalRow = _
  private var at = 0
  private var count = 0
  private lazy val rest = assignment.rest

  override def hasNext: Boolean = {
    while (at >= count && rows.hasNext) {
      row = rows.next()
      count = assignment.assign(row)
      at = 0
      if (count > 1) copies.add(count - 1)
    }
    at < count || rest.hasNext
  }

  override def next(): Product2[Int, InternalRow] = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    if (at < count) {
      val partition = assignment.id(at)
      at += 1
      withPartition(partition, row)
    } else {
      val (partition, copy) = rest.next()
      copies.add(1)
      withPartition(partition, copy)
    }
  }

  private def withPartition(partition: Int, row: InternalRow): Product2[Int, InternalRow] =
    if (copiesRows) (partition, row.copy()) else pair.update(partition, row)
}

private[rangejoin] object PartitionedRows {

  /** Whether the shuffle holds on to rows; Spark's own writers write them at once. */
  def copiesRows(partitions: Int): Boolean = SparkEnv.get.shuffleManager match {
    case _: SortShuffleManager =>
      partitions > SparkEnv.get.conf.get(config.SHUFFLE_SORT_BYPASS_MERGE_THRESHOLD) &&
      partitions > SortShuffleManager.MAX_SHUFFLE_OUTPUT_PARTITIONS_FOR_SERIALIZED_MODE
    case _ => true
  }
}
