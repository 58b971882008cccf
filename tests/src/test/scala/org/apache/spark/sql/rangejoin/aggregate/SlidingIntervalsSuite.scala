// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Average, Count, Sum}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Literal, UnsafeProjection}
import org.apache.spark.sql.rangejoin.window.TaskMemory
import org.apache.spark.sql.types.{DataType, LongType}

import org.scalatest.funsuite.AnyFunSuite

/** Matches among intervals are as many, and add up to as much, as a look at each of them finds. */
class SlidingIntervalsSuite extends AnyFunSuite with TaskMemory {
  private val x = AttributeReference("x", LongType)()
  private val counts = aggregation(Count(Literal(1)))
  private val sums = aggregation(Count(Literal(1)), Count(x), new Sum(x), new Average(x))
  private val project = UnsafeProjection.create(Array[DataType](LongType))

  private def aggregation(functions: AggregateFunction*): MatchAggregation =
    MatchAggregation.of(functions.map(_.toAggregateExpression()), Seq(x))

  private def withIntervals(aggregation: MatchAggregation, bytes: Long = 64L << 20)(
      block: (SlidingIntervals, RunAggregates) => Unit): Unit = withTask(bytes) { task =>
    val runs = new RunAggregates(aggregation, task)
    try block(new SlidingIntervals(runs), runs)
    finally runs.close()
  }

  /** Begins with no intervals, for streamed rows that are no points. */
  private def clear(intervals: SlidingIntervals, withSums: Boolean): Unit =
    intervals.clear(withSums, lower = 1L, upper = 5L)

  private def add(to: SlidingIntervals, begin: Long, end: Long, x: Any = 1L): Unit =
    to.add(project(InternalRow(x)), begin, end)

  for ((name, aggregation, withSums) <- Seq(("counts", counts, false), ("sums", sums, true)))
    test(s"$name of random intervals, of several groups") {
      withIntervals(aggregation) { (intervals, runs) =>
        val expected = MatchAggregator.create(aggregation)
        for (seed <- 1 to 40) {
          val random = new Random(seed)
          val added = mutable.ArrayBuffer.empty[(Long, Long, Any)]
          var begin = 0L
          var lower = 0L
          clear(intervals, withSums)
          for (_ <- 1 to 300) {
            for (_ <- 1 to random.nextInt(6)) {
              begin += random.nextInt(4)
              val end = begin + random.nextInt(if (random.nextInt(9) == 0) 500 else 20)
              val value = if (random.nextInt(4) == 0) null else random.nextInt(2000) - 1000L
              added += ((begin, end, value))
              add(intervals, begin, end, value)
            }
            lower += random.nextInt(8)
            val upper =
              if (random.nextInt(9) == 0) Long.MaxValue else lower + random.nextInt(30)
            val matching = added.collect { case (a, b, value) if a <= upper && b >= lower => value }
            assert(intervals.areWhole && intervals.aggregate(lower, upper) == matching.size)
            expected.clear()
            matching.foreach(value => expected.update(InternalRow(value)))
            assert(runs.result == expected.result(), s"seed $seed")
            assert(intervals.rows == added.count(_._2 >= lower))
          }
        }
      }
    }

  for ((kind, above) <- Seq("closed" -> 0, "half-open" -> 1, "open" -> 2))
    test(s"points in $kind intervals, some of which end before they begin") {
      withIntervals(counts) { (intervals, _) =>
        for (seed <- 1 to 40) {
          val random = new Random(seed)
          val added = mutable.ArrayBuffer.empty[(Long, Long)]
          var (begin, point) = (0L, 0L)
          intervals.clear(withSums = false, above.toLong, 0L)
          for (_ <- 1 to 300) {
            for (_ <- 1 to random.nextInt(4)) {
              begin += random.nextInt(3)
              added += (begin -> (begin + random.nextInt(20) - 5))
              add(intervals, begin, added.last._2)
            }
            point += random.nextInt(4)
            assert(intervals.canCount(point + above, point))
            val expected = added.count { case (a, b) => a <= point && b >= point + above }
            assert(intervals.aggregate(point + above, point) == expected, s"seed $seed")
          }
          assert(!intervals.canCount(point, point + 1) && !intervals.canCount(
            point,
            point + above - 1))
        }
      }
    }

  test("rows that cannot be counted: NULL, an end before the begin, and no memory") {
    withIntervals(aggregation(Count(x))) { (intervals, _) =>
      add(intervals, 1L, 2L)
      assert(intervals.areWhole && intervals.aggregate(1L, 5L) == 1)
      add(intervals, 1L, 2L, x = null)
      assert(!intervals.areWhole && intervals.wantSums)
      clear(intervals, withSums = false)
      assert(intervals.areWhole && !intervals.wantSums)
      add(intervals, 2L, 1L)
      assert(!intervals.areWhole && !intervals.wantSums)
      clear(intervals, withSums = true)
      add(intervals, 1L, 2L, x = null)
      assert(intervals.areWhole && intervals.aggregate(1L, 5L) == 1)
    }
    for ((aggregation, withSums) <- Seq(counts -> false, sums -> true); bytes <- Seq(1L, 3000L))
      withIntervals(aggregation, bytes) { (intervals, _) =>
        clear(intervals, withSums)
        for (i <- 1L to 1000L) add(intervals, i, i)
        assert(!intervals.areWhole)
      }
  }

  test("numbers that cannot be summed without overflow, in any order") {
    for ((values, areWhole) <- Seq(
        Seq(Long.MaxValue, 0L) -> true,
        Seq(Long.MaxValue, -1L) -> false,
        Seq(Long.MinValue) -> false)) withIntervals(aggregation(new Sum(x))) { (intervals, _) =>
      clear(intervals, withSums = true)
      values.foreach(add(intervals, 1L, 2L, _))
      assert(intervals.areWhole == areWhole)
    }
    for ((value, areWhole) <- Seq((1L << 52) -> true, ((1L << 52) + 1L) -> false))
      withIntervals(aggregation(new Average(x))) { (intervals, _) =>
        clear(intervals, withSums = true)
        add(intervals, 1L, 2L, -value)
        add(intervals, 1L, 2L, value)
        assert(intervals.areWhole == areWhole)
      }
  }
}
