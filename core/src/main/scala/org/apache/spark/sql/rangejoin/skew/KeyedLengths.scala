// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.partitioning.{
  CellSearch,
  JobOfQuery,
  KeyedColumns,
  Lengths,
  RowCells
}

/** Reads the lengths of the owner's rows of some keys, which have been shuffled. One job. */
private[rangejoin] object KeyedLengths {

  /**
   * @param owner all rows of these keys
   * @param hashes of the keys, in any order
   * @param cells by key, how its range is split
   */
  def of(
      owner: RDD[InternalRow],
      columns: KeyedColumns,
      hashes: Array[Int],
      cells: Array[CellSearch]): Seq[Lengths] = {

    /** By key that there is: a task sees few of them. */
    def longest(rows: Iterator[InternalRow]): Array[(Int, Array[Int])] = {
      val keys = hashes.zipWithIndex.toMap
      val longest = new Array[Lengths.Builder](hashes.length)
      val project = columns.projection()
      val ofRow = new RowCells(columns.bounds, isOwner = true)
      rows.foreach { input =>
        val row = project(input)
        if (!columns.hasNull(row)) {
          keys.get(columns.key(row)).foreach { key =>
            if (longest(key) == null) longest(key) = new Lengths.Builder
            ofRow.find(cells(key), row)
            longest(key).add(ofRow.length)
          }
        }
      }
      longest.zipWithIndex.collect {
        case (lengths, key) if lengths != null => (key, lengths.longest)
      }
    }
    val merged = Array.fill(hashes.length)(Lengths.Empty)
    for (longestOfTask <- JobOfQuery.run(owner, longest(_: Iterator[InternalRow]));
      (key, found) <- longestOfTask)
      merged(key) = merged(key).merge(Lengths(found))
    merged.toSeq
  }
}
