// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.Arrays

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config
import org.apache.spark.shuffle.sort.SortShuffleManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.util.MutablePair

/**
 * Finds the buckets of rows, interpreted; [[RangeBucketExec]] generates code for the same. What it finds follows from
 * the row, the number of its map task and the layout alone, so that it is the same when the task runs again.
 *
 * @param preservesOwner whether rows of the owner appear in the result without a match; others that can
 *   have none, and those of the other side, are dropped
 * @param lengths counts the lengths of an owner of intervals; else null
 * @param best of the other side: the order by which the best rows alone are copied ([[BestCopies]])
 */
final class BucketAssigner(
    layout: RowLayout,
    columns: KeyedColumns,
    isOwner: Boolean,
    preservesOwner: Boolean,
    lengths: LengthCounter = null,
    best: Option[BestOrder] = None
) extends Serializable {

  /** What finds the buckets of the rows of one partition. */
  def start(partition: Int): RowAssignment =
    best.fold[RowAssignment](new EachRow(partition))(new BestCopies(layout, columns, _))

  private final class EachRow(partition: Int) extends RowAssignment {
    private val project = columns.projection()
    private val cells = new RowCells(columns.bounds, isOwner, partition)
    if (lengths != null) lengths.begin(partition)

    override protected def find(row: InternalRow): Unit = {
      val columnsOfRow = project(row)
      if (!columns.hasNull(columnsOfRow)) {
        val buckets = layout.bucketsOf(columns.key(columnsOfRow))
        cells.find(buckets.cells, columnsOfRow)
        if (isOwner) add(cells.ownerId(buckets, lengths)) else addCopies(buckets, cells)
      } else if (isOwner && preservesOwner) add(layout.anyId(row, partition))
    }
  }
}

/** Where the rows of one partition go, one row after the other: each to as many buckets as it has ids. */
abstract class RowAssignment {
  private var ids = new Array[Int](16)
  private var size = 0

  /** Finds the ids of a row, each once; returns how many there are. */
  final def assign(row: InternalRow): Int = {
    size = 0
    find(row)
    size
  }

  /** One of the ids that were found for the last row. */
  final def id(i: Int): Int = ids(i)

  /** When all rows have been assigned: copies of some, each with the id of a further bucket. */
  def rest: Iterator[(Int, InternalRow)] = Iterator.empty

  /** Adds the ids of a row. */
  protected def find(row: InternalRow): Unit

  /**
   * Adds the ids of all buckets in which a row of the other side may have matches.
   *
   * @param without a class of lengths to leave out, if any; else -1
   */
  final protected def addCopies(buckets: BucketLayout, cells: RowCells, without: Int = -1): Unit =
    buckets.foreachCopy(cells.first, cells.last, without) { id =>
      if (buckets.hasDistinctIds || !contains(id)) add(id)
    }

  private def contains(id: Int): Boolean = {
    var i = 0
    while (i < size && ids(i) != id) i += 1
    i < size
  }

  final protected def add(id: Int): Unit = {
    if (size == ids.length) ids = Arrays.copyOf(ids, 2 * size)
    ids(size) = id
    size += 1
  }
}

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
