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

package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Reads what has been shuffled for a join with keys: a sample of both sides, or the lengths of the
 * owner's rows. One job each.
 */
private[rangejoin] object KeyedSampling {

  /** The rows of one side, and what places them. */
  case class Rows(rdd: RDD[InternalRow], columns: KeyedColumns)

  /** About so many rows of either side, all rows with the same chance in each partition. */
  def sample(owner: Rows, copied: Rows, size: Int): (KeyedSample, KeyedSample) = {
    val (ofOwner, ofCopied) = Reservoir.sample(source(owner, size), source(copied, size))
    (positions(ofOwner, owner.columns), positions(ofCopied, copied.columns))
  }

  private def source(side: Rows, size: Int): Reservoir.Source = {
    val columns = side.columns
    val ofPartition = Reservoir.sizeFor(size, side.rdd.getNumPartitions)
    val drawn = side.rdd.mapPartitionsWithIndex { (index, rows) =>
      val reservoir = new Reservoir(ofPartition, index, columns.types)
      val project = columns.projection()
      rows.foreach(row => if (reservoir.draws()) reservoir.take(project(row)))
      Iterator(reservoir.toBytes)
    }
    Reservoir.Source(drawn, columns.size)
  }

  private def positions(sampled: Reservoir.Sampled, columns: KeyedColumns): KeyedSample = {
    val bounds = columns.places
    def hasPlace(row: UnsafeRow) = columns.hasKey(row) && !bounds.hasNull(row)
    def position(row: UnsafeRow, at: Option[Int]) =
      at.map(BoundSampling.position(row, _, bounds)).orNull
    val (placed, others) = sampled.rows.partition { case (row, _) => hasPlace(row) }
    KeyedSample(
      placed.map { case (row, weight) =>
        KeyedPosition(
          columns.hash(row),
          position(row, bounds.low),
          position(row, bounds.high),
          weight)
      },
      others.map(_._2).sum + sampled.others
    )
  }

  /**
   * The lengths of all rows of some keys.
   *
   * @param hashes of the keys, in any order
   * @param cells by key, how its range is cut
   */
  def lengths(owner: Rows, hashes: Array[Int], cells: Array[CellSearch]): Seq[Lengths] = {
    val columns = owner.columns
    val bounds = columns.places

    /** By key that there is: a task sees few of them. */
    def longest(rows: Iterator[InternalRow]): Array[(Int, Array[Int])] = {
      val keys = hashes.zipWithIndex.toMap
      val longest = new Array[Lengths.Builder](hashes.length)
      val project = columns.projection()
      rows.foreach { of =>
        val row = project(of)
        if (columns.hasKey(row) && !bounds.hasNull(row)) {
          keys.get(columns.hash(row)).foreach { key =>
            if (longest(key) == null) longest(key) = new Lengths.Builder
            longest(key).add(bounds.length(row, cells(key)))
          }
        }
      }
      longest.zipWithIndex.collect { case (of, key) if of != null => (key, of.longest) }
    }
    val merged = Array.fill(hashes.length)(Lengths.None)
    owner.rdd.sparkContext.runJob[InternalRow, Array[(Int, Array[Int])]](
      owner.rdd,
      (_: TaskContext, rows: Iterator[InternalRow]) => longest(rows),
      owner.rdd.partitions.indices,
      (_: Int, of: Array[(Int, Array[Int])]) =>
        of.foreach { case (key, found) => merged(key) = merged(key).merge(Lengths(found)) }
    )
    merged.toSeq
  }
}
