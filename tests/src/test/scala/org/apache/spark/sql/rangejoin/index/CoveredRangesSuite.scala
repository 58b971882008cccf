// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Where ranges are: no row is outside, and wide gaps are seen. */
class CoveredRangesSuite extends AnyFunSuite {

  private def covered(rows: (Long, Long)*): Seq[(Long, Long)] =
    CoveredRanges.ofTwo(rows.size, rows(_)._1, rows(_)._2).intervals

  private def bound(random: Random, shape: Int): Long = shape match {
    case 0 => random.nextLong()
    case 1 => random.nextInt(100).toLong
    case 2 => random.nextInt(20) * 1000000L + random.nextInt(1000)
    case 3 =>
      val extremes =
        Seq(Long.MinValue, Long.MinValue + 1, -1L, 0L, Long.MaxValue - 1, Long.MaxValue)
      if (random.nextInt(9) == 0) extremes(random.nextInt(6)) else random.nextInt(5000).toLong
    case 4 => 1L << random.nextInt(63)
  }

  test("every range is in one interval, intervals do not meet, and there are few") {
    val random = new Random(3)
    for (round <- 0 until 500) {
      val rows = Seq.fill(1 + random.nextInt(60)) {
        val from = bound(random, round % 5)
        // Now and then the range of a row is empty.
        (from, if (random.nextInt(8) == 0) bound(random, round % 5) else from + random.nextInt(50))
      }
      val found = covered(rows: _*)
      for ((a, b) <- rows; low = math.min(a, b); high = math.max(a, b))
        assert(found.count { case (from, to) => from <= low && high <= to } == 1, s"$round: $a $b")
      assert(found.size <= 16)
      assert(found.forall { case (from, to) => from <= to })
      assert(found.zip(found.drop(1)).forall { case (a, b) => a._2 < b._1 })
      assert(found.head._1 == rows.map(r => math.min(r._1, r._2)).min)
      assert(found.last._2 == rows.map(r => math.max(r._1, r._2)).max)
    }
  }

  test("the widest gaps are left out, to the bound") {
    assert(covered((10, 20), (1000000, 1000005), (15, 30)) == Seq((10, 30), (1000000, 1000005)))
    assert(covered((7, 7)) == Seq((7, 7)))
    // More gaps than there are intervals: the widest is between 0 and 1000, then 10 wide ones.
    val many = (0L, 0L) +: (0 until 40).map { i =>
      val from = 1000L + 20 * i + (if (i >= 20) 5 * (i - 19) else 0)
      (from, from)
    }
    val found = covered(many: _*)
    assert(found.size == 16)
    assert(found.head == ((0L, 0L)))
    // Gaps of 25 from the twentieth on, of 20 before.
    assert(found(1)._1 == 1000L && found(1)._2 >= 1000L + 20 * 19)
  }

  test("where there is no other end, a range reaches to the end of the type") {
    val bounds = Array(5L, 3L, 9L)
    assert(CoveredRanges.from(3, bounds(_)).intervals == Seq((3L, Long.MaxValue)))
    assert(CoveredRanges.until(3, bounds(_)).intervals == Seq((Long.MinValue, 9L)))
    for (none <- Seq(
        CoveredRanges.from(0, bounds(_)),
        CoveredRanges.until(0, bounds(_)),
        CoveredRanges.ofTwo(0, bounds(_), bounds(_)))) assert(none.intervals == Nil)
  }
}
