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

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow

/**
 * Finds the buckets of rows, interpreted; [[RangeBucketExec]] generates code for the same. What it finds follows from
 * the row, the number of its map task and the layout alone, so that it is the same when the task runs again.
 *
 * @param keepsUnmatched whether rows of the owner appear in the result without a match; others that can
 *   have none, and those of the other side, are dropped
 * @param lengths counts the lengths of an owner of intervals; else null
 */
final class BucketAssigner(
    layout: RowLayout,
    columns: KeyedColumns,
    isOwner: Boolean,
    keepsUnmatched: Boolean,
    lengths: LengthCounter = null
) extends Serializable {

  /** An assigner for one partition. */
  def start(partition: Int): Assignment = new Assignment(partition)

  final class Assignment(partition: Int) {
    private val project = columns.projection()
    private val cells = new RowCells(columns.bounds, isOwner)
    private var ids = new Array[Int](16)
    private var size = 0
    if (lengths != null) lengths.begin(partition)

    /** One of the ids that were found for the last row. */
    def id(i: Int): Int = ids(i)

    /** Finds the ids of a row, each once; returns how many there are. */
    def assign(row: InternalRow): Int = {
      size = 0
      val columnsOfRow = project(row)
      if (!columns.hasNull(columnsOfRow)) {
        val buckets = layout.bucketsOf(columns.key(columnsOfRow))
        cells.find(buckets.cells, columnsOfRow)
        if (isOwner) add(cells.ownerId(buckets, lengths)) else addCopies(buckets)
      } else if (isOwner && keepsUnmatched) add(layout.anyId(row, partition))
      size
    }

    private def addCopies(buckets: BucketLayout): Unit =
      buckets.foreachCopy(cells.first, cells.last) { id =>
        if (buckets.hasDistinctIds || !contains(id)) add(id)
      }

    private def contains(id: Int): Boolean = {
      var i = 0
      while (i < size && ids(i) != id) i += 1
      i < size
    }

    private def add(id: Int): Unit = {
      if (size == ids.length) ids = Arrays.copyOf(ids, 2 * size)
      ids(size) = id
      size += 1
    }
  }
}
