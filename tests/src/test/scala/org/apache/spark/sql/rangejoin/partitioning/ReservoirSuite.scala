// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeArrayData, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** Rows drawn from a partition: how many, and each with the same chance. */
class ReservoirSuite extends AnyFunSuite {

  private val Types = Array[DataType](LongType, ArrayType(ByteType, containsNull = false))
  private val project = UnsafeProjection.create(Types)

  private def row(number: Long, bytes: Int): UnsafeRow =
    project(InternalRow(number, UnsafeArrayData.fromPrimitiveArray(new Array[Byte](bytes))))

  /** The rows that are counted, and the numbers of those that are drawn of `rows`, in the order in which they are kept. */
  private def drawn(
      size: Int,
      seed: Long,
      rows: Int,
      bytes: Int => Int = _ => 8): (Long, Seq[Int]) = {
    val reservoir = new Reservoir(size, seed, Types)
    for (i <- 0 until rows) if (reservoir.draws()) reservoir.take(row(i, bytes(i)))
    val (count, kept) = Reservoir.read(reservoir.toBytes, Types.length)
    (count, kept.toSeq.map(_.getLong(0).toInt))
  }

  /**
   * Draws `size` of `rows` rows again and again. How often each row is drawn has a variance that is known, and the
   * sum of the squares a distribution of chi square with one degree of freedom less than rows.
   */
  private def checkChances(size: Int, rows: Int, rounds: Int): Unit = {
    val times = new Array[Long](rows)
    for (seed <- 0 until rounds) {
      val (count, found) = drawn(size, seed, rows)
      assert(count == rows && found.size == size && found.distinct.size == size)
      found.foreach(times(_) += 1)
    }
    val chance = size.toDouble / rows
    val (mean, variance) = (rounds * chance, rounds * chance * (1 - chance))
    val squares = times.map(n => (n - mean) * (n - mean) / variance)
    assert(squares.max < 25, s"$size of $rows: row ${squares.indexOf(squares.max)}") // five sigma
    val chiSquare = squares.sum * (rows - 1) / rows
    assert(
      math.abs(chiSquare - (rows - 1)) < 5 * math.sqrt(2.0 * (rows - 1)),
      s"$size of $rows: $chiSquare")
  }

  test("every row is drawn with the same chance") {
    for ((size, rows) <- Seq(1 -> 10, 1 -> 300, 2 -> 50, 7 -> 400, 20 -> 200, 29 -> 30))
      checkChances(size, rows, 6000)
  }

  test("pairs of neighbours are drawn as often as others") {
    val (size, rows, rounds) = (10, 100, 20000)
    var neighbours = 0
    for (seed <- 0 until rounds) {
      val found = drawn(size, seed, rows)._2.sorted
      neighbours += found.zip(found.tail).count { case (a, b) => b == a + 1 }
    }
    // Of 99 pairs each is drawn with a chance of 10 * 9 / (100 * 99); two pairs are next to independent.
    val mean = rounds * 0.9
    assert(math.abs(neighbours - mean) < 5 * math.sqrt(mean), neighbours)
  }

  test("all rows where there are no more than wanted, and none of none") {
    for (rows <- Seq(0, 1, 9, 10)) assert(drawn(10, 3, rows) == (rows.toLong, 0 until rows))
  }

  test("the same rows for the same seed, others for another") {
    assert(drawn(50, 7, 5000) == drawn(50, 7, 5000))
    assert(drawn(50, 7, 5000) != drawn(50, 8, 5000))
  }

  test("of many rows few are looked at") {
    val reservoir = new Reservoir(100, 5, Types)
    var taken = 0
    for (i <- 0 until 1000000) if (reservoir.draws()) {
      reservoir.take(row(i, 0))
      taken += 1
    }
    // 100 * (1 + log(10,000))
    assert(taken > 850 && taken < 1200, taken)
  }

  test("rows that are too wide are counted, and take the place of one") {
    val (size, rows, rounds) = (20, 300, 6000)
    def isWide(i: Int) = i % 3 == 0
    val times = new Array[Int](rows)
    for (seed <- 0 until rounds) {
      val (count, found) = drawn(size, seed, rows, i => if (isWide(i)) 1100 else 8)
      assert(count == rows && found.size < size + 1)
      found.foreach(times(_) += 1)
    }
    val mean = rounds * size.toDouble / rows
    for (i <- times.indices) {
      if (isWide(i)) assert(times(i) == 0)
      else assert(math.abs(times(i) - mean) < 5 * math.sqrt(mean), i)
    }
    assert(drawn(5, 1, 40, _ => 1100) == (40L, Nil))
  }

  test("wide strings and bytes keep their beginning, in whole characters") {
    val types = Array[DataType](LongType, StringType, BinaryType)
    val wide = UnsafeProjection.create(types)
    def kept(string: String, bytes: Int): UnsafeRow = {
      val reservoir = new Reservoir(1, 3, types)
      assert(reservoir.draws())
      reservoir.take(wide(InternalRow(7L, UTF8String.fromString(string), new Array[Byte](bytes))))
      Reservoir.read(reservoir.toBytes, types.length)._2.head
    }
    for ((string, bytes, expected) <- Seq(
        ("x" * 5000, 5000, "x" * 400),
        ("é" * 5000, 500, "é" * 200),
        ("x" + "é" * 5000, 500, "x" + "é" * 199),
        ("x" * 399 + "\uD83D\uDE00" * 900, 3, "x" * 399),
        ("short", 5000, "short"),
        ("x" * 500, 300, "x" * 500)
      )) {
      val row = kept(string, bytes)
      assert(row.getLong(0) == 7 && row.getString(1) == expected, string.length)
      assert(row.getBinary(2).length == math.min(bytes, 400))
    }
  }

  test("twice what is asked for, by partition, and one row at least") {
    assert(Reservoir.sizeFor(100, 8) == 25)
    assert(Reservoir.sizeFor(101, 8) == 26)
    assert(Reservoir.sizeFor(3, 1000) == 1)
    assert(Reservoir.sizeFor(100, 0) == 200)
  }
}
