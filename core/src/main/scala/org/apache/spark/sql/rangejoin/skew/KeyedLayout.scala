// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import java.util.Arrays

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.partitioning.{
  BucketLayout,
  CellSearch,
  JobOfQuery,
  KeyedColumns,
  Lengths,
  RowCells,
  RowLayout
}

/**
 * Where rows of a join with keys go: each to a partition. The rows of some keys have buckets of the range,
 * the ids of which are partitions; all rows of another key are in one partition.
 *
 * A row of the owner goes to one partition. A row of the other side goes to each partition where there may be
 * a match for it, and never to the same one twice, though two buckets may be there. So each pair meets
 * once, and no bucket is needed among the join keys.
 *
 * @param hashes of the keys that have partitions of their own, rising
 * @param layouts by such a key, its buckets
 * @param one a single bucket, of all rows of any other key
 * @param firstOther the first of the partitions of all other keys
 */
final class KeyedLayout(
    hashes: Array[Int],
    layouts: Array[BucketLayout],
    one: BucketLayout,
    firstOther: Int,
    numOthers: Int
) extends RowLayout {

  val numPartitions: Int = firstOther + numOthers

  @transient private lazy val others: Array[BucketLayout] =
    Array.tabulate(numOthers)(at => one.withIds(Array(firstOther + at)))

  override def bucketsOf(key: Int): BucketLayout = {
    val at = Arrays.binarySearch(hashes, key)
    if (at >= 0) layouts(at) else others(Math.floorMod(KeyedLayout.mixed(key), numOthers))
  }

  /** Rows of one key, or of none, are scattered. */
  override def anyId(row: InternalRow, partition: Int): Int =
    Math.floorMod(KeyedLayout.mixed(row.hashCode() ^ partition), numPartitions)
}

object KeyedLayout {

  /** Keys of one partition have hashes that are alike; the upper bits of these differ. */
  private def mixed(hash: Int): Int = {
    val a = (hash ^ (hash >>> 16)) * 0x85ebca6b
    val b = (a ^ (a >>> 13)) * 0xc2b2ae35
    b ^ (b >>> 16)
  }
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
