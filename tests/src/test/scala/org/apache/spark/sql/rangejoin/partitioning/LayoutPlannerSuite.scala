// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.util.Random

import org.apache.spark.SparkException
import org.apache.spark.sql.types.{DataType, LongType, StringType}

import org.scalatest.funsuite.AnyFunSuite

class LayoutPlannerSuite extends AnyFunSuite {

  private def points(rows: Int, weight: Double): SideSample =
    SideSample(Some(Array.tabulate(rows)(i => Position(i, null))), None, Array.fill(rows)(weight))

  private def layout(owner: SideSample, copied: SideSample, dataType: DataType): BucketLayout =
    new LayoutPlanner(dataType, owner, copied, 800, isForced = false).layout(Lengths.Zero, 200)

  test("few buckets where rows of the other side may be in each of them") {
    val none = Some(Array.empty[Position])
    def copied(others: Double) = SideSample(none, none, Array.empty, others)
    def buckets(others: Double) = layout(points(2000, 50), copied(others), LongType).numBuckets
    assert(buckets(0) == 800)
    // Copies are to be no more than the rows of both sides.
    for (others <- Seq(1000.0, 50000.0, 1000000.0)) {
      val most = 1.1 * (100000 + others) / others
      assert(buckets(others) <= math.max(1, most) && buckets(others) >= most / 4, others)
    }
  }

  test("one bucket where there are no boundaries") {
    val none = SideSample(Some(Array.empty[Position]), None, Array.empty, 1e6)
    assert(layout(none, none.copy(high = none.low), StringType).numBuckets == 1)
  }

  test("how many rows tie is known from a sample, where it is many") {
    val random = new Random(4)
    val (rows, drawn) = (1000000, 5000)
    for (ties <- Seq(1, 1000, 100000)) {
      val positions = Array.fill(drawn)(Position(random.nextInt(rows).toLong / ties, null))
      val unknown = Array.fill(drawn)(Position(Long.MinValue, null))
      val sample =
        SideSample(Some(positions ++ unknown), None, Array.fill(2 * drawn)(rows / drawn.toDouble))
      val found = sample.ties
      assert(found < 1.5 * ties + 100 && found > ties / 1.5, ties)
    }
    assert(SideSample(None, Some(Array(Position(3, null))), Array(7)).ties == 1)
    // All rows.
    assert(SideSample(Some(Array.fill(9)(Position(3, null))), None, Array.fill(9)(1)).ties == 9)
  }

  /** Intervals from a cell, of a length in positions. */
  private def intervals(startsAndLengths: Seq[(Long, Long)]): SideSample = SideSample(
    Some(startsAndLengths.map { case (start, _) => Position(start, null) }.toArray),
    Some(startsAndLengths.map { case (start, length) => Position(start + length, null) }.toArray),
    Array.fill(startsAndLengths.size)(1.0)
  )

  test(
    "an owner whose lengths were not sampled: every length has a class, and every pair one bucket") {
    val random = new Random(7)
    def rows(n: Int, most: Int) =
      Seq.fill(n)((
        random.nextInt(10000).toLong,
        (random.nextDouble() * random.nextInt(most)).toLong))
    for {
      (sampledMost, most) <- Seq((20, 20), (20, 10000), (10000, 20), (300, 2000))
      buckets <- Seq(1, 5, 100)
      isForced <- Seq(true, false)
    } {
      val (copied, owner) = (rows(300, 50), rows(300, most))
      val planner = new LayoutPlanner(
        LongType,
        intervals(rows(500, sampledMost)),
        intervals(copied),
        buckets,
        isForced)
      val open = planner.layoutForAnyLengths(3)
      def cells(startAndLength: (Long, Long)) =
        (
          open.cells.cell(startAndLength._1, null),
          open.cells.cell(startAndLength._1 + startAndLength._2, null))
      val counted = new LengthCounter(1, null)
      for ((low, high) <- owner.map(cells)) counted.add(high - low)
      for (layout <- Seq(open, open.lookingBack(counted.value))) {
        assert(layout.covers(counted.value))
        for (a <- owner; b <- copied if a._1 <= b._1 + b._2 && b._1 <= a._1 + a._2) {
          val (first, last) = cells(a)
          val bucket = layout.ownerId(first, last)
          assert(bucket == open.ownerId(first, last))
          var found = 0
          val (low, high) = cells(b)
          layout.foreachCopy(low, high)(id => if (id == bucket) found += 1)
          assert(found == 1, (a, b))
        }
      }
    }
  }

  test("no copies for lengths that no row has, and few for a row that no sample has") {
    val random = new Random(11)
    val starts = Seq.fill(20000)(random.nextInt(1000000).toLong)
    val planner = new LayoutPlanner(
      LongType,
      intervals(starts.map((_, 10L))),
      SideSample(
        intervals(starts.map((_, 0L))).low,
        intervals(starts.map((_, 0L))).high,
        Array.fill(20000)(1.0)),
      100,
      isForced = false
    )
    val open = planner.layoutForAnyLengths(10)
    def copies(longest: Int*) = {
      val counted = new LengthCounter(1, null)
      longest.foreach(counted.add)
      planner.copies(open.lookingBack(counted.value)) / 20000
    }
    assert(copies() == 0)
    assert(copies(1) >= 1 && copies(1) <= 1.1)
    for (length <- Seq(20, 200, 1000, 3000)) assert(copies(1, length) <= 3.1, length)
    // Rows that there had not been when the copies were made.
    val counted = new LengthCounter(1, null)
    counted.add(1)
    val short = open.lookingBack(counted.value)
    counted.add(200)
    assert(!short.covers(counted.value) && open.lookingBack(counted.value).covers(counted.value))
    assert(intercept[SparkException](short.ownerId(5, 205)).getMessage.contains("longer range"))
  }
}
