// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** What a search for evict bounds finds, against asking every row of a run. */
class EvictBoundsSuite extends AnyFunSuite {
  import EvictBoundsSuite._

  /** The group from one place to another: all runs of it that a search may have to know, and all ends. */
  private def check(bounds: EvictBounds, values: Array[Long], from: Int, until: Int)(
      clue: => String): Unit = {
    val random = new Random(until)
    val ends = Seq(from, from + 1, until - 1, until) ++ (from to until).filter(_ % 16 == 0) ++
      Seq.fill(20)(from + random.nextInt(until - from + 1))
    val near = Seq.fill(20)(values(from + random.nextInt(until - from)))
    val lowers = near ++ near.map(_ - 1) ++ near.map(_ + 1) ++ Extremes
    for (end <- ends.distinct if end >= from; lower <- lowers.distinct) {
      val expected = values.lastIndexWhere(_ >= lower, end - 1)
      val found = bounds.lastReaching(from, end, lower)
      // The clue of an assertion is written whether it fails or not.
      if (found != (if (expected < from) -1 else expected))
        fail(s"$clue, rows from $from until $end: $found instead of $expected for $lower")
    }
  }

  for (name <- Shapes.keys) {
    test(s"the last row that reaches, of groups that are $name") {
      val random = new Random(name.hashCode)
      for (_ <- 0 until 40) {
        val groups = Seq.fill(1 + random.nextInt(5))(group(random, name))
        checkAll(groups, name)
      }
    }
  }

  test("the last row that reaches, of groups of any shape beside each other") {
    val random = new Random(3)
    val names = Shapes.keys.toIndexedSeq
    for (_ <- 0 until 200) {
      val shapes = Seq.fill(2 + random.nextInt(5))(names(random.nextInt(names.size)))
      checkAll(shapes.map(group(random, _)), shapes.mkString(", "))
    }
  }

  private def checkAll(groups: Seq[Array[Long]], clue: String): Unit = {
    val (values, starts) = (groups.flatten.toArray, startsOf(groups))
    val bounds = EvictBounds(values, starts, null)
    for ((from, until) <- runs(starts)) check(bounds, values, from, until)(clue)
  }

  test("all rows of a run that reach, from the last to the first") {
    val random = new Random(4)
    for (name <- Shapes.keys; _ <- 0 until 10) {
      val groups = Seq.fill(3)(group(random, name))
      val (values, starts) = (groups.flatten.toArray, startsOf(groups))
      val bounds = EvictBounds(values, starts, null)
      for ((from, until) <- runs(starts); _ <- 0 until 20) {
        val lower = values(from + random.nextInt(until - from)) + random.nextInt(3) - 1
        val end = from + random.nextInt(until - from + 1)
        val found = Iterator
          .iterate(bounds.lastReaching(from, end, lower))(bounds.lastReaching(from, _, lower))
          .takeWhile(_ >= 0)
        assert(
          found.toSeq == (from until end).filter(values(_) >= lower).reverse,
          s"$name, from $from until $end, $lower")
      }
    }
  }

  test("a lower bound that is a rank") {
    val random = new Random(5)
    for (name <- Shapes.keys; _ <- 0 until 20) {
      val groups = Seq.fill(3)(group(random, name))
      val (values, starts) = (groups.flatten.toArray, startsOf(groups))
      val byRank = runs(starts).flatMap { case (from, until) =>
        (from until until).sortBy(values(_))
      }.toArray
      val ranks = values.clone
      for ((from, until) <- runs(starts)) {
        val distinct = values.slice(from, until).distinct.sorted
        for (i <- from until until if values(i) < Long.MaxValue)
          ranks(i) = distinct.indexOf(values(i)).toLong
      }
      val bounds = EvictBounds(ranks, starts, byRank)
      for ((from, until) <- runs(starts); _ <- 0 until 20) {
        val knownEnd = bounds.firstUnknown(from, until)
        assert(knownEnd - from == values.slice(from, until).count(_ < Long.MaxValue))
        val lower = values(from + random.nextInt(until - from))
        // What a search finds that asks the test itself.
        val place = (from until knownEnd)
          .find(place => values(bounds.rowByRank(place)) >= lower)
          .getOrElse(knownEnd)
        val end = from + random.nextInt(until - from + 1)
        val expected = values.lastIndexWhere(_ >= lower, end - 1)
        val found = bounds.lastReaching(from, end, bounds.rankAt(place, knownEnd))
        assert(
          found == (if (expected < from) -1 else expected),
          s"$name, from $from until $end, $lower")
      }
    }
  }

  test("bounds that never fall are all there is of an index that has no others") {
    val groups = Seq(Array(7L, 7L, 8L), Array.tabulate(5000)(_.toLong), Array(Long.MinValue))
    val rising = EvictBounds(groups.flatten.toArray, startsOf(groups), null)
    assert(rising.estimatedSize == 5004 * 8)
    val falling = groups.updated(1, groups(1).updated(2500, 2498L))
    val others = EvictBounds(falling.flatten.toArray, startsOf(falling), null)
    // A bit for each row, and the maxima of blocks of 16, twice, of 16 blocks, and of 16 of those.
    val more = (5004 + 63) / 64 + 2 * (5004 / 16) + 5004 / 256 + 5004 / 4096
    assert(others.estimatedSize == (5004 + more) * 8)
    val byRank = Array.range(0, 5004)
    val ranks = EvictBounds(groups.flatten.toArray, startsOf(groups), byRank)
    assert(ranks.estimatedSize == 5004 * 12)
  }
}

private object EvictBoundsSuite {
  private val Extremes = Seq(Long.MinValue, Long.MinValue + 1, 0L, Long.MaxValue - 1, Long.MaxValue)

  /** Where blocks of 16, words of bits and blocks of 16 blocks end, and next to it. */
  private val Sizes =
    Seq(1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 255, 256, 257, 300, 1000)

  /** The evict bounds of a group of `n` rows, in the order of the sort bounds. */
  private val Shapes = Map[String, (Random, Int) => Array[Long]](
    "rising" -> ((random, n) => Array.fill(n)(random.nextInt(4 * n).toLong).sorted),
    "equal" -> ((_, n) => Array.fill(n)(7L)),
    "equal or next to each other" -> ((random, n) => Array.fill(n)(random.nextInt(3).toLong)),
    "nested" -> ((random, n) => Array.fill(n)(random.nextInt(4 * n).toLong).sorted.reverse),
    "nested in each other here and there" -> ((random, n) =>
      Array.tabulate(n)(i => if (random.nextInt(20) == 0) i + 100L else i.toLong)),
    "rising but for a row" -> { (random, n) =>
      val bounds = Array.tabulate(n)(_ * 2L)
      bounds(random.nextInt(n)) = random.nextInt(2 * n + 1).toLong
      bounds
    },
    "within one" -> ((_, n) => Array.tabulate(n)(i => if (i == 0) 10L * n else i.toLong)),
    "at the extremes" -> ((random, n) =>
      Array.fill(n)(
        if (random.nextInt(3) == 0) Extremes(random.nextInt(Extremes.size))
        else random.nextLong())),
    "rising from the least to the greatest" -> ((random, n) =>
      Array.fill(n)(Extremes(random.nextInt(Extremes.size))).sorted),
    "random" -> ((random, n) => Array.fill(n)(random.nextLong() >> random.nextInt(64)))
  )

  private def group(random: Random, shape: String): Array[Long] =
    Shapes(shape)(random, Sizes(random.nextInt(Sizes.size)))

  /** The first row of each group, and the end of the last. */
  private def startsOf(groups: Seq[Array[Long]]): Array[Int] =
    groups.scanLeft(0)(_ + _.length).toArray

  /** The first row of each group, and the end of it. */
  private def runs(starts: Array[Int]): Seq[(Int, Int)] = starts.toSeq.init.zip(starts.tail)
}
