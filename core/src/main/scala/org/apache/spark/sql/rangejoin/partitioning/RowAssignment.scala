// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow

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
