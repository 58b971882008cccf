// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.util.Random

import org.apache.spark.sql.rangejoin.kernel.OrderedLong
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** The cell of a value is the number of boundaries at or before it, however it is found. */
class CellSearchSuite extends AnyFunSuite {

  private val Extremes = Seq(Long.MinValue, Long.MinValue + 1, Long.MaxValue - 1, Long.MaxValue)

  private def check(dataType: DataType, drawn: Seq[Position], positions: Seq[Position]): Unit = {
    val ordering = Position.ordering(dataType)
    val boundaries = drawn.distinct.sorted(ordering)
    val cells = new CellSearch(dataType, boundaries.toArray)
    assert(cells.size == boundaries.size + 1)
    for (position <- positions) {
      val expected = boundaries.count(ordering.lteq(_, position))
      assert(cells.cell(position) == expected, s"$position among ${boundaries.size} boundaries")
      for (near <- Seq(0, expected - 1, expected, expected + 1, boundaries.size)
        if near >= 0 && near <= boundaries.size)
        assert(
          cells.cellNear(near, position.long, position.value) == expected,
          s"$position, looked for near $near")
    }
  }

  /** Longs of some distribution. */
  private def longs(random: Random, shape: Int, count: Int): Seq[Long] = {
    val offset = random.nextLong()
    Seq.fill(count)(shape match {
      case 0 => random.nextLong()
      case 1 => offset + random.nextInt(3 * count + 1)
      case 2 => offset + random.nextInt(1000000000)
      case 3 => 1L << random.nextInt(63)
      case 4 =>
        if (random.nextInt(20) == 0) Extremes(random.nextInt(4)) else random.nextInt(9999).toLong
      case 5 => if (random.nextBoolean()) Long.MinValue + random.nextInt(count + 1)
        else Long.MaxValue - random.nextInt(count + 1)
    })
  }

  test("of longs, among few boundaries and many, near together and far apart") {
    val random = new Random(21)
    for (round <- 0 until 180) {
      val count = Seq(0, 1, 7, 8, 31, 63, 64, 300, 2000)(round % 9)
      val boundaries = longs(random, round / 9 % 6, count).map(Position(_, null))
      val near = if (boundaries.isEmpty) Nil
      else Seq.fill(200)(boundaries(random.nextInt(count)).long + random.nextInt(3) - 1)
      val others = longs(random, round / 9 % 6, 50) ++ Extremes ++ Seq.fill(50)(random.nextLong())
      check(LongType, boundaries, (near ++ others).map(Position(_, null)))
    }
  }

  test("of values with prefixes, many of which are ties") {
    val random = new Random(22)
    def position(text: String): Position = {
      val value = UTF8String.fromString(text)
      Position(OrderedLong.encode(value, StringType), value)
    }
    def text(shape: Int): String = shape match {
      case 0 => Seq.fill(random.nextInt(12))(('a' + random.nextInt(3)).toChar).mkString
      case 1 => s"same prefix ${random.nextInt(5000)}"
      case 2 => s"${random.nextInt(20)} some prefix ${random.nextInt(200)}"
      case 3 => random.nextString(random.nextInt(6))
    }
    for (round <- 0 until 80) {
      val count = Seq(0, 3, 63, 64, 1500)(round % 5)
      val boundaries = Seq.fill(count)(position(text(round / 5 % 4))).filter(_.isKnown)
      val others = Seq.fill(200)(position(text(round / 5 % 4))) ++ boundaries.take(200)
      val unknown = Extremes.filter(long => !Position(long, null).isKnown).map(Position(_, null))
      check(StringType, boundaries, others ++ unknown)
    }
  }
}
