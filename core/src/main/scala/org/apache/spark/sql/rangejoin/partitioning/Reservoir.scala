// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.random.XORShiftRandom

/**
 * Draws rows of a partition while they pass by, all with the same chance. It is known ahead which row is the
 * next to be drawn, so that all others are counted and need not exist (Li, Reservoir-Sampling
 * Algorithms of Time Complexity O(n(1 + log(N/n))), ACM TOMS 1994, algorithm L).
 *
 * Boundaries are sent to every task. So in a drawn row that is too wide strings and binaries are cut to their
 * beginning, which is as good a boundary. A row that is still too wide (arrays, structs) takes up a place in
 * the sample and is not sent.
 *
 * @param size how many rows to draw, at least one
 * @param seed of the numbers that are drawn: the same rows are drawn where a task runs again
 * @param types of the columns
 */
private[partitioning] final class Reservoir(size: Int, seed: Long, types: Array[DataType]) {
  import Reservoir._

  private val random = new XORShiftRandom(seed)
  private val drawn = new Array[UnsafeRow](size)
  private var count = 0L

  /** The row that is drawn next, counted from 0. */
  private var next = 0L

  /**
   * `W` of algorithm L: if every row drew a uniform number and the `size` smallest were kept, the
   * largest number kept.
   */
  private var greatest = 1.0

  /** Counts a row. Where it is drawn, [[take]] has to follow. */
  def draws(): Boolean = {
    count += 1
    count > next
  }

  /** Keeps a copy of the row that was counted last. */
  def take(row: UnsafeRow): Unit = {
    val at = if (next < size) next.toInt else random.nextInt(size)
    drawn(at) =
      if (row.getSizeInBytes <= MostBytes) row.copy()
      else Some(narrowed(row)).filter(_.getSizeInBytes <= MostBytes).orNull
    if (next < size - 1) next += 1
    else {
      greatest *= math.exp(math.log(positive()) / size)
      // The sum is a double: beyond all longs it becomes the greatest one, and no more rows are
      // drawn.
      next = (next + 1 + math.floor(math.log(positive()) / math.log1p(-greatest))).toLong
    }
  }

  private lazy val project = UnsafeProjection.create(types)

  /** A copy of a row with the beginning of its strings and bytes. */
  private def narrowed(row: UnsafeRow): UnsafeRow = {
    val values = row.toSeq(types.toIndexedSeq).map {
      case string: UTF8String => beginning(string)
      case bytes: Array[Byte] => bytes.take(MostBytesOfValue)
      case other              => other
    }
    project(InternalRow.fromSeq(values)).copy()
  }

  /** A number above 0, and at most 1. */
  private def positive(): Double = 1 - random.nextDouble()

  /** The number of rows that have been counted, and those that are drawn, for [[Reservoir.sample]]. */
  def toBytes: Array[Byte] = {
    val bytes = new ByteArrayOutputStream()
    val out = new DataOutputStream(bytes)
    val kept = drawn.filter(_ != null)
    out.writeLong(count)
    out.writeInt(kept.length)
    for (row <- kept) {
      out.writeInt(row.getSizeInBytes)
      out.write(row.getBytes)
    }
    bytes.toByteArray
  }
}

/**
 * Rows drawn from both sides of a join. They travel as bytes: any serializer takes these.
 */
private[partitioning] object Reservoir {

  private val MostBytes = 1024

  /** Of a string in a row that has too many: two of them fit in. */
  private val MostBytesOfValue = 400

  /** The first bytes of a string, without a part of a character. */
  private def beginning(string: UTF8String): UTF8String =
    if (string.numBytes <= MostBytesOfValue) string
    else {
      val bytes = string.getBytes
      var end = MostBytesOfValue
      while (end > 0 && (bytes(end) & 0xc0) == 0x80) end -= 1
      UTF8String.fromBytes(bytes, 0, end)
    }

  /** How many rows to draw from each partition for `rows` in all: partitions may differ in size. */
  def sizeFor(rows: Int, partitions: Int): Int =
    math.max(1, math.ceil(2.0 * rows / math.max(1, partitions)).toInt)

  /** What [[Reservoir.toBytes]] has written. */
  def read(bytes: Array[Byte], fields: Int): (Long, Array[UnsafeRow]) = {
    val in = new DataInputStream(new ByteArrayInputStream(bytes))
    val count = in.readLong()
    val rows = Array.fill(in.readInt()) {
      val bytes = new Array[Byte](in.readInt())
      in.readFully(bytes)
      val row = new UnsafeRow(fields)
      row.pointTo(bytes, bytes.length)
      row
    }
    (count, rows)
  }
}
