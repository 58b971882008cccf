// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.Random

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/** Differences that are divided or rounded before they are compared: no pair is lost, and few are looked at. */
class RoundedDifferenceSuite extends AnyFunSuite with TwoSides {
  private val New_York = Some("America/New_York")
  private val a = new Columns("l", TimestampType).y
  private val b = new Columns("r", TimestampType).y
  private val Minute = 60L * 1000000
  private val Day = 24 * 60 * Minute

  /** Instants around the ends of units, of months and of summer time, and far ones. */
  private val times: Seq[Any] = {
    val start = 1709164800000000L // 2024-02-29
    val fallBack = 1730610000000000L // 2024-11-03 05:00 UTC
    val steps = Seq(
      0L,
      1L,
      -1L,
      999L,
      1000L,
      999999L,
      1000000L,
      Minute - 1,
      Minute,
      Minute + 1,
      -Minute,
      60 * Minute,
      120 * Minute - 1,
      Day - 1,
      Day,
      -Day,
      7 * Day,
      28 * Day,
      31 * Day,
      366 * Day)
    null +: (steps.map(start + _) ++ Seq(0L, 60L, 61L, 90L, 120L, 180L).map(fallBack + _ * Minute))
  }

  private val numbers: Seq[Any] = Seq(
    null,
    Int.MinValue,
    Int.MinValue + 1,
    -1000,
    -121,
    -120,
    -61,
    -60,
    -59,
    -31,
    -1,
    0,
    1,
    29,
    30,
    59,
    60,
    61,
    119,
    120,
    121,
    1000,
    Int.MaxValue - 1,
    Int.MaxValue)

  private val longs: Seq[Any] =
    Seq(
      Long.MinValue,
      Long.MinValue + 60,
      -(1L << 53) - 1,
      -(1L << 53),
      -61L,
      -60L,
      -1L,
      0L,
      1L,
      59L,
      60L,
      61L,
      (1L << 53) - 1,
      (1L << 53) + 1,
      (1L << 53) + 61,
      Long.MaxValue - 59,
      Long.MaxValue
    )

  private def checkAll(e: Expression, values: Seq[Any], limits: (Expression, Expression)*): Unit =
    for ((low, high) <- limits) {
      val both = Seq(low <= e && e <= high, low < e && e < high)
      for (condition <- both) {
        val found = range(condition)
        assert(!found.isOneSided && found.residual.contains(condition), condition.sql)
        assertSameMeaning(condition, values)
      }
      assertSameMeaning(e === low, values)
      assertSameMeaning(high === e, values)
    }

  private def ofLongs(limits: (Long, Long)*) =
    limits.map { case (low, high) => (Literal(low), Literal(high)) }

  for (unit <- Seq(
      "MICROSECOND",
      "millisecond",
      "SECOND",
      "MINUTE",
      "HOUR",
      "DAY",
      "WEEK",
      "MONTH",
      "QUARTER",
      "YEAR")) {
    test(s"timestampdiff of $unit") {
      val d = TimestampDiff(unit, a, b, New_York)
      checkAll(d, times, ofLongs((0, 0), (0, 1), (-1, 1), (-2, -1), (1, 5), (-5, 60), (3, 2)): _*)
      for (limit <- Seq(-1L, 0L, 1L, 5L).map(Literal(_));
        one <- Seq(d <= limit, d < limit, d >= limit, d > limit)) {
        assert(range(one).isOneSided)
        assertSameMeaning(one, times)
      }
      for (limit <- Seq(-1L, 0L, 1L)) {
        assertSameMeaning(Abs(d, failOnError = true) <= Literal(limit), times)
      }
    }
  }

  test("a range of minutes is as wide as the minutes, and one more at either end") {
    val found = range(between(TimestampDiff("MINUTE", a, b, New_York), Literal(0L), Literal(5L)))
    val decision = new PairDecision(found, Seq(a), Seq(b))
    val zero = 1709164800000000L
    def isCandidate(micros: Long) = {
      val (x, y) = (
        new GenericInternalRow(Array[Any](zero)),
        new GenericInternalRow(Array[Any](zero + micros)))
      decision.isCandidate(
        decision.boundsOf(LeftSide, x).get,
        decision.boundsOf(RightSide, y).get,
        new JoinedRow(x, y))
    }
    assert(Seq(-Minute, 0L, 5 * Minute, 6 * Minute - 1, 6 * Minute).forall(isCandidate))
    assert(!Seq(-Minute - 1, 6 * Minute + 1).exists(isCandidate))
  }

  test("months between two times") {
    val d = MonthsBetween(a, b, Literal(true), New_York)
    val limits = Seq((0.0, 1.0), (-1.0, 1.0), (0.5, 0.75), (-3.0, -2.0), (0.0, 0.0), (-12.5, 12.5))
    checkAll(d, times, limits.map { case (low, high) => (Literal(low), Literal(high)) }: _*)
    val random = new Random(7)
    val many = Seq.fill(60)(1700000000000000L + (random.nextDouble() * 900 * Day).toLong)
    for (low <- Seq(-4.0, -1.0, 0.0, 2.5)) {
      assertSameMeaning(between(d, Literal(low), Literal(low + 1)), many)
      assertSameMeaning(
        between(MonthsBetween(a, b, Literal(false), New_York), Literal(low), Literal(low + 1)),
        many)
    }
  }

  private def quotient(d: Expression): Expression = Divide(Cast(d, DoubleType), Literal(60.0))

  for (mode <- Seq(EvalMode.ANSI, EvalMode.LEGACY)) {
    val d = Subtract(l.y, r.y, mode)
    val (x, y) = (new Columns("l", LongType).y, new Columns("r", LongType).y)
    val ofLong = Subtract(x, y, mode)

    test(s"$mode: a quotient as a double, and what it is rounded to") {
      val limits = Seq((0.0, 1.0), (-1.0, 1.0), (0.5, 0.51), (-3.5, -2.0), (0.0, 0.0), (1e9, 1e10))
        .map { case (low, high) => (Literal(low), Literal(high)) }
      checkAll(quotient(d), numbers, limits: _*)
      checkAll(quotient(ofLong), longs, limits: _*)
      checkAll(Round(quotient(d), Literal(0)), numbers, limits: _*)
      val whole = ofLongs((0, 0), (0, 1), (-2, 2), (-3, -1), (1L << 30, 1L << 40))
      for (f <- Seq[Expression => Expression](Floor(_), Ceil(_), Cast(_, LongType, None, mode))) {
        checkAll(f(quotient(d)), numbers, whole: _*)
        checkAll(f(quotient(ofLong)), longs, whole: _*)
      }
      checkAll(
        Cast(quotient(d), IntegerType, None, mode),
        numbers,
        (Literal(0), Literal(1)),
        (Literal(-2), Literal(2)))
    }

    test(s"$mode: a whole quotient, and absolute values") {
      for ((e, values) <- Seq((d, numbers), (ofLong, longs))) {
        val div = IntegralDivide(Cast(e, LongType), Literal(60L), mode)
        checkAll(div, values, ofLongs((0, 0), (0, 1), (-2, 2), (-3, -1)): _*)
        for (limit <- Seq(-1L, 0L, 1L, 5L)) {
          assertSameMeaning(Abs(div, failOnError = false) <= Literal(limit), values)
          assertSameMeaning(Abs(quotient(e)) < Literal(limit.toDouble), values)
          assertSameMeaning(
            quotient(Abs(e, failOnError = mode == EvalMode.ANSI)) <= Literal(limit.toDouble),
            values)
        }
      }
    }

    test(s"$mode: a quotient as a decimal") {
      val decimal = Divide(
        Cast(d, DecimalType(10, 0), None, mode),
        Literal(Decimal("60.0")),
        mode)
      def number(n: Any) = Cast(Literal(Decimal(n.toString)), decimal.dataType).eval(null)
      val limits = Seq((0, 1), (-1, 1), ("0.5", "0.516667"), ("-2.016667", "-2")).map {
        case (low, high) =>
          (Literal(number(low), decimal.dataType), Literal(number(high), decimal.dataType))
      }
      checkAll(decimal, numbers, limits: _*)
    }
  }

  test("absolute values that may wrap around, and casts that do, are no range") {
    val d = Subtract(l.y, r.y, EvalMode.LEGACY)
    val wrapped = Abs(Cast(quotient(d), IntegerType, None, EvalMode.LEGACY), failOnError = false)
    assert(extract(wrapped <= Literal(1)).isLeft)
    val narrow = Cast(quotient(d), ByteType, None, EvalMode.LEGACY)
    assert(extract(between(narrow, Literal(0.toByte), Literal(1.toByte))).isLeft)
  }

  test("a cast that saturates is within the greatest value, and no range") {
    val cast = Cast(quotient(minus(l.y, r.y)), IntegerType, None, EvalMode.LEGACY)
    assert(extract(cast <= Literal(Int.MaxValue)).isLeft)
  }

  test("neither is a divisor that is negative, zero or a fraction") {
    for (n <- Seq(-60.0, 0.0, 0.5, Double.NaN, Double.PositiveInfinity)) {
      val e = Divide(Cast(minus(l.y, r.y), DoubleType), Literal(n))
      assert(extract(between(e, Literal(0.0), Literal(1.0))).isLeft, n)
    }
  }

  test("a limit of the days between dates may stand alone") {
    val d = DateDiff(new Columns("l", DateType).y, new Columns("r", DateType).y)
    val days = Seq[Any](
      null,
      Int.MinValue,
      Int.MinValue + 3,
      -(1 << 30) - 1,
      -(1 << 30),
      0,
      3,
      4,
      (1 << 30) - 1,
      1 << 30,
      Int.MaxValue - 3,
      Int.MaxValue)
    for (limit <- Seq(-3, 0, 3).map(Literal(_));
      one <- Seq(d <= limit, d < limit, d >= limit, d > limit)) {
      assert(range(one).isOneSided)
      assertSameMeaning(one, days)
    }
  }
}
