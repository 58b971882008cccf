// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.util.Random

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.rangejoin.condition.Rounding
import org.apache.spark.sql.rangejoin.kernel.OrderedLong

import org.scalatest.funsuite.AnyFunSuite

class NearTiesSuite extends AnyFunSuite {

  private def nearTies(rounding: Rounding, farthest: Double) = new NearTies(
    BestOrder(
      bySortBound = true,
      descending = false,
      limit = 1,
      keepsTies = true,
      countsTies = true,
      hasClampedEnds = false,
      rankPoint = Some(RankPoint(
        Literal(0L),
        DistanceOrder(nearest = true, None, slack = 0L, Some(rounding), misplacesNaN = false)))
    ),
    _ => farthest
  )

  for (single <- Seq(false, true))
    test(s"two numbers with one distance from a point are no farther apart (single: $single)") {
      val random = new Random(1)
      val rounding = Rounding(single)
      def cast(x: Double) = if (single) x.toFloat.toDouble else x
      def number(): Double = random.nextInt(20) match {
        case 0 => Double.PositiveInfinity
        case 1 => -Double.MaxValue
        case 2 => Double.MinPositiveValue
        case _ =>
          cast(random.nextGaussian() * math.pow(10, (random.nextInt(600) - 300).toDouble))
      }
      var ties = 0
      for (_ <- 1 to 100000) {
        val last = cast(number())
        val near = cast(random.nextInt(3) match {
          case 0 => number()
          case 1 => last + math.ulp(last.toFloat) * random.nextInt(9)
          case _ => last + math.ulp(last) * random.nextInt(9)
        })
        val point = cast(random.nextInt(3) match {
          case 0 => number()
          case 1 => last * random.nextInt(100)
          case _ => last + (last - near) * random.nextInt(1 << 30)
        })
        // Rows on either side of a point are kept apart from each other.
        val areOnOneSide = point >= math.max(last, near) || point <= math.min(last, near)
        if (math.abs(point) < Double.PositiveInfinity && last != near && areOnOneSide) {
          val ends = rounding.distance(point, last) -> rounding.distance(point, near)
          if (java.lang.Double.compare(ends._1, ends._2) == 0) {
            ties += 1
            val farthest = math.abs(point) * Seq(1, 2, 1000)(random.nextInt(3))
            val isBeyond = nearTies(rounding, farthest)
              .isBeyond(OrderedLong.ofDouble(near), OrderedLong.ofDouble(last))
            assert(!isBeyond, s"$last and $near from $point")
          }
        }
      }
      assert(ties > 5000)
    }

  test("of numbers that are less apart than distances are rounded by, others are beyond") {
    def isBeyond(farthest: Double, number: Double, last: Double, single: Boolean = false) =
      nearTies(Rounding(single), farthest)
        .isBeyond(OrderedLong.ofDouble(number), OrderedLong.ofDouble(last))
    assert(!isBeyond(1e15, 1.25, 1.0))
    assert(isBeyond(1e15, 1.5, 1.0))
    assert(isBeyond(1e6, 1.000001, 1.0))
    assert(isBeyond(1e6, Double.PositiveInfinity, 1.0))
    assert(isBeyond(1e6, Double.NaN, 1.0))
    assert(!isBeyond(1e308, Double.PositiveInfinity, Double.MaxValue))
    assert(!isBeyond(3e38, Double.PositiveInfinity, 3e38, single = true))
  }
}
