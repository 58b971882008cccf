// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.best.BestOrder

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
