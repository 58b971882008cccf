// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.Left

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/** Limits of a sum of the two sides. All pairs of bytes are looked at in [[DifferenceExhaustiveSuite]]. */
class SumSuite extends AnyFunSuite with TwoSides {

  private def sum(a: Expression, b: Expression): Expression = Add(a, b, EvalMode.LEGACY)

  test("two limits of a sum are a range of either side") {
    val form = Form.of(range(between(plus(l.y, r.y), Literal(3), Literal(9))))
    assert(form.residual.isEmpty && form.trusted.isEmpty)
    assert(Set(form.lower, form.upper) == Set("(3 - l.y) <= r.y", "r.y <= (9 - l.y)"))
    val ofRight = Form.of(range(between(plus(l.y, r.y), r.low, r.high)))
    assert(Set(ofRight.lower, ofRight.upper) == Set(
      "(r.low - r.y) <= l.y",
      "l.y <= (r.high - r.y)"))
  }

  test("one limit of a sum that raises is asked again") {
    val form = Form.of(range(plus(l.y, r.y) > Literal(2)))
    assert(form.residual.contains("((l.y + r.y) > 2)"))
    assert(Seq(form.lower, form.upper).filter(_.nonEmpty) == Seq("(2 - l.y) < r.y"))
  }

  test("two limits of one sum that wraps around, written either way round") {
    val limits = sum(l.y, r.y) >= Literal(3) && sum(r.y, l.y) < Literal(9)
    assertSameMeaning(limits, Seq(null, 0, 3, 8, Int.MaxValue, Int.MinValue))
    assert(Form.of(range(limits)).residual.isEmpty)
  }

  test("terms of one side are part of the sum") {
    val terms = plus(plus(l.y, Literal(5)), minus(r.y, r.z))
    assertSameMeaning(terms >= Literal(9), Seq(null, -3, 0, 2, 7, Int.MaxValue, Int.MinValue))
  }

  private val doubles: Seq[Any] = Seq(
    null,
    Double.NaN,
    Double.PositiveInfinity,
    Double.NegativeInfinity,
    0.0,
    -0.0,
    0.1,
    0.2,
    -0.1,
    0.30000000000000004,
    1e16,
    1.0,
    -1e16,
    Double.MaxValue,
    -Double.MaxValue,
    Double.MinPositiveValue
  )

  test("doubles: rounding, NaN and infinity, with limits that are literals and columns") {
    val (l, r) = (new Columns("l", DoubleType), new Columns("r", DoubleType))
    for (limit <- doubles.collect { case d: Double => Literal(d) }) {
      assertSameMeaning(sum(l.y, r.y) <= limit, doubles)
      assertSameMeaning(sum(l.y, r.y) >= limit, doubles)
      assertSameMeaning(limit > sum(r.y, l.y), doubles)
      assertSameMeaning(sum(r.y, l.y) > limit && sum(r.y, l.y) < Literal(0.3), doubles)
      assertSameMeaning(Abs(sum(l.y, r.y), failOnError = false) <= limit, doubles)
    }
    for (limit <- Seq(l.high, r.high)) {
      assertSameMeaning(sum(l.y, r.y) >= limit, doubles)
      assertSameMeaning(sum(l.y, r.y) < limit, doubles)
    }
  }

  test("limits at the ends of the type, of a difference as well, beside infinite rows") {
    val (l, r) = (new Columns("l", DoubleType), new Columns("r", DoubleType))
    val ends: Seq[Any] = Seq(0.0, Double.NaN) ++ Seq(Double.MaxValue, Double.PositiveInfinity)
      .flatMap(d => Seq(d, -d))
    for (limit <- Seq(l.high, r.high)) {
      val combined = Seq[Expression](sum(l.y, r.y), Subtract(l.y, r.y, EvalMode.LEGACY))
      for (sum <- combined) {
        assertSameMeaning(sum >= limit, ends)
        assertSameMeaning(sum <= limit, ends)
      }
    }
  }

  test("floats, compared as floats and as doubles") {
    val (l, r) = (new Columns("l", FloatType), new Columns("r", FloatType))
    val floats: Seq[Any] =
      Seq[Any](null, Float.NaN, Float.PositiveInfinity, Float.NegativeInfinity) ++
        Seq[Any](0f, -0f, 0.1f, 0.2f, 0.3f, 1.6777216e7f, 1f, -1f, Float.MaxValue, -Float.MaxValue)
    for (limit <- floats.collect { case f: Float => f }) {
      assertSameMeaning(sum(l.y, r.y) <= Literal(limit), floats)
      assertSameMeaning(sum(l.y, r.y) > Literal(limit), floats)
      assertSameMeaning(Cast(sum(l.y, r.y), DoubleType) >= Literal(limit + 1e-12), floats)
      assertSameMeaning(Cast(sum(l.y, r.y), DoubleType) < Literal(limit + 1e-12), floats)
    }
  }

  test("longs near their ends, with and without wrapping around") {
    val (l, r) = (new Columns("l", LongType), new Columns("r", LongType))
    val longs: Seq[Any] =
      Seq(null, 0L, 1L, -1L, 5L, Long.MaxValue, Long.MaxValue - 1, Long.MinValue, Long.MinValue + 1)
    for {
      low <- longs.collect { case n: Long => n }
      high <- longs.collect { case n: Long => n }
    } {
      assertSameMeaning(between(sum(l.y, r.y), Literal(low), Literal(high)), longs)
      assertSameMeaning(plus(l.y, r.y) >= Literal(low) && plus(l.y, r.y) < Literal(high), longs)
      assertSameMeaning(plus(l.y, r.y) > Literal(low), longs)
    }
  }

  test("decimals of few digits and intervals") {
    val (l, r) = (new Columns("l", DecimalType(9, 2)), new Columns("r", DecimalType(7, 3)))
    val limit = Literal(Decimal(BigDecimal("1.5"), 12, 3))
    val sum = plus(l.y, r.y)
    assert(sum.dataType == DecimalType(11, 3))
    val compared = Cast(sum, DecimalType(12, 3))
    val form = Form.of(range(compared >= limit))
    assert(form.lower.nonEmpty != form.upper.nonEmpty)
    val months = YearMonthIntervalType()
    val (a, b) = (new Columns("l", months), new Columns("r", months))
    val values = Seq[Any](null, 0, 1, -5, 30, Int.MaxValue, Int.MinValue)
    assertSameMeaning(plus(a.y, b.y) <= Literal(7, months), values)
    assertSameMeaning(between(plus(a.y, b.y), Literal(-6, months), Literal(2, months)), values)
  }

  test("a sum of a type without exact arithmetic for it is refused") {
    val (l, r) = (new Columns("l", DecimalType(38, 2)), new Columns("r", DecimalType(38, 2)))
    val limited = plus(l.y, r.y) <= l.high
    assert(extract(limited) == Left(Reason.InexactDifference(limited)))
  }
}
