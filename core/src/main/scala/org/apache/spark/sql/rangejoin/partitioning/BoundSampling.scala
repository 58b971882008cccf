// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.SparkPlan

/** Reads a sample of the bounds of both sides, in one job. */
private[rangejoin] object BoundSampling {

  private val RowsPerPart = 60

  private val LeastRows = 2000L

  /** They are sorted on the driver. */
  private val MostRows = 250000L

  /** How many rows of each side to draw, to split them into `parts` buckets or partitions. */
  def sizeFor(parts: Long): Int = (parts * RowsPerPart).max(LeastRows).min(MostRows).toInt

  /**
   * Where a sample of a side is drawn from.
   *
   * @param draw draws about a given number of rows, as [[Reservoir.toBytes]] writes them
   * @param fields of such a row
   * @param bounds where they are in it, by range; a row with a NULL in those of the first one matches nothing
   * @param keyAt where the hash of the keys is, likewise NULL, if there are keys
   */
  case class Side(
      draw: Int => RDD[Array[Byte]],
      fields: Int,
      bounds: Seq[BoundColumns],
      keyAt: Option[Int]) {

    def hasNull(row: InternalRow): Boolean =
      keyAt.exists(row.isNullAt) || bounds.head.hasNull(row)
  }

  /** A plan of the bounds of some ranges, one after the other. */
  def side(plan: SparkPlan, ranges: Seq[SideBounds]): Side = {
    val first = ranges.scanLeft(0)(_ + _.columns.size)
    val bounds = ranges.zip(first).map { case (bounds, at) => bounds.ordinalsFrom(at) }
    Side(DrawRowsExec.drawn(plan, _, bounds.head.all), plan.output.size, bounds, None)
  }

  /** Rows that have been shuffled by keys. */
  def side(rows: RDD[InternalRow], columns: KeyedColumns): Side = {
    def draw(size: Int): RDD[Array[Byte]] = {
      val ofPartition = Reservoir.sizeFor(size, rows.getNumPartitions)
      rows.mapPartitionsWithIndex { (index, rows) =>
        val reservoir = new Reservoir(ofPartition, index, columns.types)
        val project = columns.projection()
        rows.foreach(row => if (reservoir.draws()) reservoir.take(project(row)))
        Iterator(reservoir.toBytes)
      }
    }
    Side(draw(_), columns.size, Seq(columns.bounds), columns.keyAt)
  }

  /**
   * About `size` rows of either side, all rows with the same chance in each partition; one sample
   * for each range.
   */
  def sample(owner: Side, copied: Side, size: Int): (Seq[SideSample], Seq[SideSample]) = {
    def source(side: Side) = Reservoir.Source(side.draw(size), side.fields)
    val (ofOwner, ofCopied) = Reservoir.sample(source(owner), source(copied))
    (samples(ofOwner, owner), samples(ofCopied, copied))
  }

  private def samples(sampled: Reservoir.Sampled, side: Side): Seq[SideSample] = {
    val (unmatched, known) = sampled.rows.partition { case (row, _) => side.hasNull(row) }
    val (rows, weight) = known.unzip
    val keys = side.keyAt.fold(Array.emptyIntArray)(at => rows.map(_.getInt(at)))
    val others = sampled.others + unmatched.map(_._2).sum
    side.bounds.map(SideSample.of(rows, weight, _, others, keys))
  }
}
