// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.Left

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.SlowTests
import org.apache.spark.sql.rangejoin.condition.PairDecision.holds
import org.apache.spark.sql.rangejoin.shims.RaisingArithmetic.Raising
import org.apache.spark.sql.types.{ByteType, ShortType}

/**
 * All pairs of bytes, for the limits where arithmetic of bytes goes wrong. The condition itself is
 * the oracle:
 *
 *   - sound: a pair it holds for is a candidate;
 *   - exact: where no bound is at its extreme and nothing is residual, so is only such a pair.
 *
 * Of the pairs whose difference or sum raises every fifth is looked at: to raise takes longer than all else,
 * and no condition holds for them.
 */
class DifferenceExhaustiveSuite extends SlowTests with TwoSides {
  private val x = new Columns("l", ByteType).y
  private val y = new Columns("r", ByteType).y
  private val bytes = (Byte.MinValue to Byte.MaxValue).map(b => InternalRow(b.toByte))

  private val limits = Seq(
    (-2, 2),
    (0, 0),
    (-1, -1),
    (3, 100),
    (-100, -3),
    (-128, 127),
    (-128, 126),
    (-127, 127),
    (-128, -128),
    (127, 127),
    (-128, 0),
    (0, 127),
    (2, -2),
    (127, -128)
  )

  private def byte(value: Int): Literal = Literal(value.toByte)

  /** Checks all pairs; the numbers of rows of each side that have a bound at its extreme. */
  private def check(condition: Expression): (Int, Int) = {
    val found = range(condition)
    val decision = new PairDecision(found, Seq(x), Seq(y))
    val original = bindReference(condition, Seq(x, y))
    // Bytes are never NULL, nor so near the ends of a long that a strict bound is.
    val left = bytes.map(decision.boundsOf(LeftSide, _).get)
    val right = bytes.map(decision.boundsOf(RightSide, _).get)
    val pair = new JoinedRow
    val (difference, sum) = (
      condition.exists { case Subtract(a, b, Raising) => Set(a, b) == Set(x, y); case _ => false },
      condition.exists { case Add(a, b, Raising) => Set(a, b) == Set(x, y); case _ => false })
    def isLookedAt(i: Int, j: Int) = {
      val isFar = (difference && math.abs(i - j) >= 130) || (sum && math.abs(i + j - 256) >= 130)
      !isFar || (i + 3 * j) % 5 == 0
    }
    for (i <- bytes.indices; j <- bytes.indices if isLookedAt(i, j)) {
      val matches = holds(original, pair(bytes(i), bytes(j)))
      if (matches != decision.isCandidate(left(i), right(j), pair)) {
        val asked = left(i).isExtreme || right(j).isExtreme || found.residual.isDefined
        def rows = s"${condition.sql} of ${bytes(i)} and ${bytes(j)}: ${left(i)}, ${right(j)}"
        if (matches) fail(s"lost: $rows") else if (!asked) fail(s"wrong: $rows")
      }
    }
    (left.count(_.isExtreme), right.count(_.isExtreme))
  }

  private def distance(mode: EvalMode.Value, a: Expression, b: Expression): Expression =
    Abs(Subtract(a, b, mode), failOnError = mode == EvalMode.ANSI)

  for (mode <- Seq(EvalMode.ANSI, EvalMode.LEGACY)) {
    test(s"$mode: a difference between two limits loses no pair and adds none") {
      val d = Subtract(x, y, mode)
      for ((low, high) <- limits; (a, b) = (byte(low), byte(high))) {
        val untrusted = check(a <= d && d <= b)
        if (mode == EvalMode.ANSI) assert(untrusted == ((0, 0)))
        if (low <= 0) check(a < d && d < b)
      }
    }

    test(s"$mode: nor does it where the right side is the minuend") {
      val d = Subtract(y, x, mode)
      for ((low, high) <- limits.take(7).grouped(2).map(_.head))
        check(byte(low) <= d && d < byte(high))
    }

    test(s"$mode: an absolute difference loses no pair and adds none") {
      for (limit <- Seq(-128, -127, -1, 0, 1, 2, 64, 126, 127).map(byte)) {
        check(distance(mode, x, y) <= limit)
        check(distance(mode, y, x) < limit)
      }
    }

    test(s"$mode: nor do differences that are compared as a wider type") {
      val d = Cast(Subtract(x, y, mode), ShortType)
      for ((low, high) <- Seq((-2, 2), (-200, 200), (-128, 128), (100, 200), (-200, -100))) {
        val (a, b) = (Literal(low.toShort), Literal(high.toShort))
        check(a <= d && d <= b)
        check(Abs(d, failOnError = true) <= b)
        check(Cast(distance(mode, x, y), ShortType) <= b)
      }
    }

    test(s"$mode: nor do two limits of which one is compared in a wider type") {
      val d = Subtract(x, y, mode)
      val wide = Cast(d, ShortType)
      for (limit <- Seq(-200, -128, -5, 0, 5, 200)) {
        check(d <= byte(5) && wide >= Literal(limit.toShort))
        check(wide <= Literal(limit.toShort) && d > byte(-5))
        check(distance(mode, x, y) <= byte(5) && Abs(
          wide,
          failOnError = true) <= Literal(9.toShort))
      }
    }

    test(s"$mode: nor do limits of two absolute differences") {
      for ((a, b) <- Seq((10, 5), (5, 10), (127, 0))) {
        check(distance(mode, x, y) <= byte(a) && distance(mode, x, y) <= byte(b))
      }
    }

    test(s"$mode: nor does a limit that is a column of a side") {
      for (limit <- Seq(x, y)) {
        val d = Subtract(x, y, mode)
        check(byte(-5) <= d && d <= byte(5) && d <= limit)
        check(between(d, Subtract(byte(-1), limit, EvalMode.LEGACY), limit))
        check(distance(mode, x, y) <= limit)
      }
    }
  }

  for (mode <- Seq(EvalMode.ANSI, EvalMode.LEGACY)) {
    test(
      s"$mode: a sum between two limits loses no pair and adds none",
      slowIf(mode != EvalMode.ANSI): _*) {
      for ((low, high) <- limits; (a, b) = (byte(low), byte(high))) {
        check(a <= Add(x, y, mode) && Add(x, y, mode) <= b)
        check(a < Add(y, x, mode) && Add(y, x, mode) < b)
      }
    }

    test(s"$mode: nor does a sum that is compared as a wider type") {
      val sum = Add(x, y, mode)
      val wide = Cast(sum, ShortType)
      for ((low, high) <- Seq((-2, 2), (-200, 200), (-128, 128), (100, 200), (-200, -100))) {
        check(Literal(low.toShort) <= wide && wide <= Literal(high.toShort))
        check(wide >= Literal(low.toShort) && sum < byte(5))
      }
    }

    test(s"$mode: nor does a sum whose limit is a column of a side") {
      for (limit <- Seq(x, y)) {
        val sum = Add(x, y, mode)
        check(byte(-5) <= sum && sum <= byte(5) && sum <= limit)
        check(between(sum, Subtract(byte(-1), limit, EvalMode.LEGACY), limit))
      }
    }
  }

  test("a sum that raises may have one limit, and an absolute value") {
    for (limit <- Seq(-128, -100, -1, 0, 5, 127).map(byte)) {
      check(Add(x, y, EvalMode.ANSI) <= limit)
      check(Add(x, y, EvalMode.ANSI) > limit)
      check(Abs(Add(x, y, EvalMode.ANSI), failOnError = true) <= limit)
    }
  }

  test("a sum that wraps around may not") {
    val sum = Add(x, y, EvalMode.LEGACY)
    for (alone <- Seq(sum <= byte(5), sum > byte(5), Abs(sum, failOnError = false) <= byte(5))) {
      assert(extract(alone) == Left(Reason.InexactDifference(alone)))
    }
  }

  test("a sum that wraps around trusts all rows but those that it wraps for") {
    val untrusted = check(between(Add(x, y, EvalMode.LEGACY), byte(-2), byte(2)))
    assert(untrusted == ((4, 0)))
  }

  test("absolute values that wrap around where the difference does not lose no pair") {
    for (limit <- Seq(-128, 0, 2, 127).map(byte)) {
      check(Abs(Subtract(x, y, EvalMode.ANSI), failOnError = false) <= limit)
      check(Abs(Subtract(x, y, EvalMode.LEGACY), failOnError = true) <= limit)
    }
  }

  // ---------------------------------------------------------------- how much is not trusted

  test("an absolute difference that raises has no bound at the extreme") {
    assert(check(distance(EvalMode.ANSI, x, y) <= byte(2)) == ((0, 0)))
  }

  test("a difference that wraps around trusts all rows but those within its limits of the ends") {
    def untrusted(low: Int, high: Int): (Int, Int) =
      check(between(Subtract(x, y, EvalMode.LEGACY), byte(low), byte(high)))
    assert(untrusted(0, 0) == ((0, 0)))
    assert(untrusted(-2, 2) == ((4, 0)))
    assert(untrusted(-100, 3) == ((103, 0)))
    assert(untrusted(3, 100) == ((100, 0)))
  }

  test("an absolute difference that wraps around trusts values from zero to near the greatest") {
    val decision =
      new PairDecision(range(distance(EvalMode.LEGACY, x, y) <= byte(2)), Seq(x), Seq(y))
    for (side <- Seq[Side](LeftSide, RightSide)) {
      val trusted = bytes.filterNot(b => decision.boundsOf(side, b).exists(_.isExtreme))
      assert(trusted.map(_.getByte(0).toInt) == (-7 to 120))
    }
  }
}
