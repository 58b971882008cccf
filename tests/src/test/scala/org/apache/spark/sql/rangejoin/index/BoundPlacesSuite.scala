// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Where bounds are looked for in a group: never beside the right entry, and among few. */
class BoundPlacesSuite extends AnyFunSuite {

  private val Extremes = Seq(Long.MinValue, Long.MinValue + 1, Long.MaxValue - 1, Long.MaxValue)

  /** Sorted bounds of some distribution. */
  private def bounds(random: Random, shape: Int): Array[Long] = {
    val count = 60 + random.nextInt(3000)
    val offset = if (random.nextBoolean()) 0L else random.nextLong()
    val drawn = Array.fill(count)(shape match {
      case 0 => random.nextLong()
      case 1 => offset + random.nextInt(100)
      case 2 => offset + random.nextInt(1000000)
      case 3 => offset + (1L << random.nextInt(63))
      case 4 =>
        if (random.nextInt(50) == 0) Extremes(random.nextInt(4)) else random.nextInt(5000).toLong
      case 5 => if (random.nextBoolean()) Long.MinValue + random.nextInt(9)
        else Long.MaxValue - random.nextInt(9)
    })
    drawn.sorted
  }

  test("the first entry with a bound is within what is left to search") {
    val random = new Random(11)
    for (round <- 0 until 120) {
      val before = Array.fill(random.nextInt(100))(random.nextLong())
      val group = bounds(random, round % 6)
      val all = before ++ group ++ Array.fill(5)(random.nextLong())
      val (start, end) = (before.length, before.length + group.length)
      val places = BoundPlaces(all, start, end)
      if (places != null) {
        val near = Seq.fill(300)(group(random.nextInt(group.length)) + random.nextInt(3) - 1)
        for (bound <- near ++ Extremes ++ Seq.fill(50)(random.nextLong())) {
          val found = start + group.count(_ < bound)
          val (first, last) = (places.first(bound), places.last(bound, end))
          assert(
            start <= first && first <= found && found <= last && last <= end,
            s"$round: $bound")
        }
      } else assert(group.length < 64 || group.distinct.length < group.length)
    }
  }

  test("little is left of bounds that are spread evenly, wherever a few others are") {
    val random = new Random(12)
    for (outliers <- Seq(Nil, Extremes); count <- Seq(1000, 100000)) {
      val even = Array.fill(count)(random.nextInt(1000000000).toLong)
      val sorted = (even ++ outliers).sorted
      val places = BoundPlaces(sorted, 0, sorted.length)
      assert(places.estimatedSize < count * 2 + 1000)
      val left = Seq.fill(1000) {
        val bound = random.nextInt(1000000000).toLong
        places.last(bound, sorted.length) - places.first(bound)
      }
      assert(left.count(_ > 16) < 60, left.max)
    }
  }

  test("groups that are small, or have hardly more than one bound, have no places") {
    assert(BoundPlaces(Array.tabulate(63)(_.toLong), 0, 63) == null)
    assert(BoundPlaces(Array.tabulate(64)(_.toLong), 0, 64) != null)
    assert(BoundPlaces(1L +: Array.fill(1000)(5L) :+ 9L, 0, 1002) == null)
  }
}
