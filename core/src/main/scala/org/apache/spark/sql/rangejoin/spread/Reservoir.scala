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
import org.apache.spark.util.random.XORShiftRandom

/**
 * Rows drawn from both sides of a join. They travel as bytes: any serializer takes these.
 */
private[spread] object Reservoir {

  private val MostBytes = 1024

  /**
   * Rows of a side.
   *
   * @param fields of what is made of a row
   * @param made what is drawn of a row; a function of its own for each partition
   */
  case class Source(rows: RDD[InternalRow], fields: Int, made: () => InternalRow => InternalRow)

  /**
   * About so many rows of either side, all rows with the same chance in each partition; each beside the
   * number of rows that it stands for. One job: the tasks of one side need not wait for the last of the
   * other.
   */
  def sample(
      owner: Source,
      copied: Source,
      size: Int): (Array[(UnsafeRow, Double)], Array[(UnsafeRow, Double)]) = {
    val sc = owner.rows.sparkContext
    val sketches = sc.runJob(
      new UnionRDD(sc, Seq(owner, copied).map(sketched(_, size))),
      (_: TaskContext, of: Iterator[Array[Byte]]) => of.next())
    val (ofOwner, ofCopied) = sketches.splitAt(owner.rows.getNumPartitions)
    (weighted(ofOwner, owner.fields), weighted(ofCopied, copied.fields))
  }

  private def sketched(side: Source, size: Int): RDD[Array[Byte]] = {
    val made = side.made
    // Partitions may be of different sizes.
    val most = math.max(1, math.ceil(2.0 * size / math.max(1, side.rows.getNumPartitions)).toInt)
    side.rows.mapPartitionsWithIndex((index, rows) =>
      Iterator(fill(rows, most, index, made())))
  }

  private def weighted(sketches: Array[Array[Byte]], fields: Int): Array[(UnsafeRow, Double)] =
    sketches.flatMap { bytes =>
      val (count, rows) = read(bytes, fields)
      rows.map(row => (row, count.toDouble / rows.length))
    }

  /** Draws of what is made of each row; it is made of rows that are drawn alone. */
  private def fill(
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
  private def read(bytes: Array[Byte], fields: Int): (Long, Array[UnsafeRow]) = {
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
