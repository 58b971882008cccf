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

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}

import org.apache.spark.TaskContext
import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.util.random.XORShiftRandom

/** Reads the bounds of a side: a sample of them, or the lengths of all rows. One job each. */
private[rangejoin] object BoundSampling {

  private val RowsPerPart = 60

  private val LeastRows = 2000L

  /** They are sorted on the driver. */
  private val MostRows = 250000L

  /** How many rows of each side to draw, to divide them into so many buckets or places. */
  def sizeFor(parts: Long): Int = (parts * RowsPerPart).max(LeastRows).min(MostRows).toInt

  private[spread] def position(row: InternalRow, at: Int, of: BoundColumns): Position = {
    val long = row.getLong(at)
    val hasValue = !of.isLossless && long != Long.MinValue && long != Long.MaxValue
    Position(long, if (hasValue) row.get(at + 1, of.dataType) else null)
  }

  /** A plan of the bounds of a side, and what they mean. */
  case class Side(plan: SparkPlan, bounds: SideBounds)

  /**
   * About so many rows of either side, all rows with the same chance in each partition. One job: the
   * tasks of one side need not wait for the last of the other.
   */
  def sample(owner: Side, copied: Side, size: Int): (SideSample, SideSample) = {
    val sides = Seq(owner, copied).map(sketched(_, size))
    val sc = sides.head.sparkContext
    val sketches = sc.runJob(
      new UnionRDD(sc, sides),
      (_: TaskContext, of: Iterator[Array[Byte]]) => of.next())
    val (ofOwner, ofCopied) = sketches.splitAt(sides.head.getNumPartitions)
    (read(ofOwner, owner.bounds), read(ofCopied, copied.bounds))
  }

  private def sketched(side: Side, size: Int): RDD[Array[Byte]] = {
    val of = side.bounds.places
    val rdd = side.plan.execute()
    // Partitions may be of different sizes.
    val most = math.max(1, math.ceil(2.0 * size / math.max(1, rdd.getNumPartitions)).toInt)
    rdd.mapPartitionsWithIndex((index, rows) =>
      Iterator(Reservoir.fill(rows.filterNot(of.hasNull), most, index)))
  }

  private def read(sketches: Array[Array[Byte]], bounds: SideBounds): SideSample = {
    val of = bounds.places
    val sampled = sketches.flatMap { bytes =>
      val (count, rows) = Reservoir.read(bytes, bounds.columns.size)
      rows.map(row => (row, count.toDouble / rows.length))
    }
    def positions(at: Int) = sampled.map { case (row, _) => position(row, at, of) }
    SideSample(of.low.map(positions), of.high.map(positions), sampled.map(_._2))
  }

  /** The lengths of all rows. */
  def lengths(plan: SparkPlan, bounds: SideBounds, cells: CellSearch): Lengths = {
    val of = bounds.places
    def longest(rows: Iterator[InternalRow]): Array[Int] = {
      val lengths = new Lengths.Builder
      rows.filterNot(of.hasNull).foreach(row => lengths.add(of.length(row, cells)))
      lengths.longest
    }
    val rdd = plan.execute()
    rdd.sparkContext
      .runJob(rdd, (rows: Iterator[InternalRow]) => longest(rows))
      .map(Lengths(_)).foldLeft(Lengths.None)(_.merge(_))
  }
}

/**
 * Rows drawn from an iterator, as bytes: any serializer takes these.
 */
private[spread] object Reservoir {

  private val MostBytes = 1024

  def fill(rows: Iterator[InternalRow], size: Int, seed: Int): Array[Byte] =
    fill(rows, size, seed, row => row)

  /** Draws of what is made of each row; it is made of rows that are drawn alone. */
  def fill(
      rows: Iterator[InternalRow],
      size: Int,
      seed: Int,
      made: InternalRow => InternalRow): Array[Byte] = {
    val drawn = new Array[UnsafeRow](size)
    val random = new XORShiftRandom(seed)
    var (count, narrow) = (0L, 0L)
    rows.foreach { of =>
      val at = if (narrow < size) narrow else (random.nextDouble() * (narrow + 1)).toLong
      if (at < size) {
        val row = made(of).asInstanceOf[UnsafeRow]
        // What is too wide is counted, and stands for nothing: boundaries travel to every task.
        if (row.getSizeInBytes <= MostBytes) {
          drawn(at.toInt) = row.copy()
          narrow += 1
        }
      } else narrow += 1
      count += 1
    }
    val bytes = new ByteArrayOutputStream()
    val out = new DataOutputStream(bytes)
    out.writeLong(count)
    val filled = math.min(narrow, size.toLong).toInt
    out.writeInt(filled)
    for (row <- drawn.take(filled)) {
      out.writeInt(row.getSizeInBytes)
      out.write(row.getBytes)
    }
    bytes.toByteArray
  }

  /** The number of rows there were, and those that were drawn. */
  def read(bytes: Array[Byte], fields: Int): (Long, Array[UnsafeRow]) = {
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    val count = in.readLong()
    val rows = Array.fill(in.readInt()) {
      val of = new Array[Byte](in.readInt())
      in.readFully(of)
      val row = new UnsafeRow(fields)
      row.pointTo(of, of.length)
      row
    }
    (count, rows)
  }
}
