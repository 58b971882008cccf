// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}

import org.scalatest.funsuite.AnyFunSuite

/** Rows come back as they were given, across chunks of any size. */
class PackedRowsSuite extends AnyFunSuite {
  private val project = UnsafeProjection.create(Array[DataType](LongType, BinaryType))

  private def row(number: Long, bytes: Int): UnsafeRow =
    project(InternalRow(number, Array.fill(bytes)(number.toByte))).copy()

  private def checkRows(rows: Seq[UnsafeRow], wordBits: Int): PackedRows = {
    val builder = new PackedRows.Builder(0, wordBits)
    val read = new UnsafeRow(2)
    for ((row, i) <- rows.zipWithIndex) {
      builder.append(row)
      for (j <- math.max(0, i - 3) to i) {
        builder.read(j, read)
        assert(read == rows(j))
      }
    }
    val packed = builder.result()
    assert(packed.size == rows.size)
    for (i <- rows.indices.reverse) {
      packed.read(i, read)
      assert(read == rows(i))
    }
    packed
  }

  test("rows of one size are found by their number") {
    for (wordBits <- Seq(2, 4, 5, 6, 24); count <- Seq(0, 1, 2, 100)) {
      val rows = (0 until count).map(i => row(i.toLong, 8))
      val packed = checkRows(rows, wordBits)
      assert(packed.estimatedSize == rows.map(_.getSizeInBytes.toLong).sum)
    }
  }

  test("rows of many sizes, some longer than a chunk") {
    val random = new Random(1)
    for (wordBits <- Seq(2, 4, 7, 24)) {
      checkRows((0 until 300).map(i => row(i.toLong, random.nextInt(200))), wordBits)
      checkRows(Seq(row(1, 8), row(2, 1000), row(3, 0), row(4, 1000), row(5, 1000)), wordBits)
    }
  }

  test("a chunk is filled to its last byte") {
    // Rows of 32 and 64 bytes in chunks of 128.
    assert(row(1, 8).getSizeInBytes == 32 && row(1, 40).getSizeInBytes == 64)
    val sizes = Seq(8, 8, 8, 8, 40, 40, 8, 40, 8, 40, 8, 8, 40)
    checkRows(sizes.zipWithIndex.map { case (size, i) => row(i.toLong, size) }, 4)
  }
}
