// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.scalatest.funsuite.AnyFunSuite

class ScanChoiceSuite extends AnyFunSuite {

  /** What all rows have cost, and how many were searched by two ranges. */
  private def run(rows: Int, ofGroup: Long = 1L << 40)(
      costOfOne: Int => Long,
      costOfTwo: Int => Long): (Long, Int) = {
    val choice = new ScanChoice
    var (cost, byTwo) = (0L, 0)
    for (row <- 0 until rows) {
      val two = choice.next(cost, ofGroup)
      cost += (if (two) costOfTwo(row) else costOfOne(row))
      if (two) byTwo += 1
    }
    (cost, byTwo)
  }

  test("the cheaper way is gone, and the other one is tried at little cost") {
    val rows = 200000
    for ((one, two) <- Seq(1L -> 1000L, 1000L -> 1L, 10L -> 11L, 0L -> 5L, 1000000L -> 50L)) {
      val (cost, byTwo) = run(rows)(_ => one, _ => two)
      val best = rows * math.min(one, two)
      val trials = 16L * math.max(one, two) * 2 + best / 20
      assert(cost <= best + trials, s"$one $two: $cost")
      assert(byTwo > 0 && byTwo < rows)
    }
  }

  test("rows that come later may be searched the other way") {
    val (cost, byTwo) = run(400000)(row => if (row < 100000) 1 else 100, _ => 10)
    assert(byTwo > 200000, byTwo)
    assert(cost < 4200000L, cost)
  }

  test("a few rows are searched by two ranges") {
    assert(run(16)(_ => 1L, _ => 1L)._2 == 16)
  }

  test("one row is, where that costs more than to look at all rows of the group") {
    assert(run(16, ofGroup = 1000L)(_ => 1000L, _ => 2010L) == ((15 * 1000L + 2010L, 1)))
    assert(run(16, ofGroup = 1000L)(_ => 1000L, _ => 100L)._2 == 16)
  }
}
