// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_HOUR}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** Ranges over columns of every type that Spark can order, as users write them. */
class RangeTypesSuite extends AnyFunSuite with TwoSides {
  private val Zone = Some("America/Los_Angeles")
  private val Hour = Literal(MICROS_PER_HOUR, DayTimeIntervalType())
  private val Day = Literal(MICROS_PER_DAY, DayTimeIntervalType())

  // The clock of the zone went from 1:59 to 1:00 at this instant, 2026-11-01 09:00 UTC.
  private val ClockBack = 1793523600000000L
  private val Instants = Seq[Any](null, ClockBack + MICROS_PER_DAY) ++
    (-3 to 3).map(halves => ClockBack + halves * MICROS_PER_HOUR / 2)

  private def columns(dataType: DataType): (Columns, Columns) =
    (new Columns("l", dataType), new Columns("r", dataType))

  private def check(condition: Expression, values: Seq[Any], trusted: String = ""): Unit = {
    val form = Form.of(range(condition))
    assert(form.residual.isEmpty, condition.sql)
    assert(form.trusted == trusted, condition.sql)
    assertSameMeaning(condition, values)
  }

  test("intervals of every type overlap, and hold points") {
    val types = Seq[(DataType, Seq[Any])](
      ByteType -> Seq[Byte](Byte.MinValue, 0, 1, Byte.MaxValue),
      ShortType -> Seq[Short](Short.MinValue, 0, 1, Short.MaxValue),
      IntegerType -> Seq(Int.MinValue, 0, 1, Int.MaxValue),
      LongType -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      DateType -> Seq(Int.MinValue, 0, 1, Int.MaxValue),
      TimestampType -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      TimestampNTZType -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      DayTimeIntervalType() -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      YearMonthIntervalType() -> Seq(Int.MinValue, 0, 1, Int.MaxValue),
      BooleanType -> Seq(false, true),
      FloatType -> Seq(Float.NegativeInfinity, -0.0f, 0.0f, Float.MaxValue, Float.NaN),
      DoubleType -> Seq(-1.5, -0.0, 0.0, Double.PositiveInfinity, Double.NaN),
      DecimalType(18, 2) -> Seq("-9999999999999999.99", "0.00", "0.01").map(Decimal(_)),
      DecimalType(38, 2) -> Seq("-1", "0", "0.01", "1" * 36)
        .map(s => Decimal(BigDecimal(s), 38, 2)),
      StringType -> Seq("", "a", "a long common prefix", "a long common prefix, ended", "\uffff")
        .map(UTF8String.fromString),
      BinaryType -> Seq[Array[Byte]](
        Array.empty,
        Array(0),
        Array(127),
        Array(-128),
        Array.fill(9)(-1)),
      ArrayType(IntegerType) -> Seq(Seq(), Seq(1), Seq(1, 2)).map(new GenericArrayData(_))
    ) ++ TypesOfLine.time.map(_ -> Seq(0L, 1L, 86399999999999L)) ++
      TypesOfLine.collated("UTF8_LCASE")
        .map(_ -> Seq("", "a", "A", "b", "B").map(UTF8String.fromString)) ++
      TypesOfLine.collated("UNICODE_CI")
        .map(_ -> Seq("", "e", "É", "z").map(UTF8String.fromString))
    for ((dataType, values) <- types) {
      val (l, r) = columns(dataType)
      check(l.start <= r.end && r.start < l.end, null +: values)
      check(l.start < r.y && r.y < l.end, null +: values)
      check(r.start < l.y && l.y < r.end, null +: values)
    }
  }

  test("a range of one direction of every type has one test") {
    for (dataType <- Seq(IntegerType, DoubleType, StringType, DecimalType(38, 2))) {
      val (l, r) = columns(dataType)
      for (condition <- Seq(l.y <= r.y, l.y < r.y, r.y <= l.y)) {
        val found = range(condition)
        assert(found.upperTest.isDefined && found.lowerTest.isEmpty && found.residual.isEmpty)
      }
    }
  }

  // ---------------------------------------------------------------- numbers that round

  /** Numbers that are close to one another, and those that arithmetic treats apart. */
  private val Doubles = Seq[Any](
    null,
    Double.NegativeInfinity,
    Double.MinValue,
    -0.1,
    0.0,
    Double.MinPositiveValue,
    0.1,
    0.2,
    0.3,
    0.1 + 0.2,
    Math.nextDown(0.2),
    1e16,
    1e16 + 2,
    Double.MaxValue,
    Double.PositiveInfinity,
    Double.NaN
  )
  private val Limits = Seq(0.0, 0.1, 0.2, -0.1, 1.0, 1e16, Double.MaxValue, Double.MinPositiveValue)

  /** The pairs are those of the condition, which is asked again. */
  private def checkAsked(condition: Expression, values: Seq[Any], trusted: String = ""): Unit = {
    val form = Form.of(range(condition))
    assert(form.residual.contains(condition.sql), condition.sql)
    assert(form.trusted == trusted, condition.sql)
    assertSameMeaning(condition, values)
  }

  test("a rounded difference within limits is a band that is asked again") {
    val (l, r) = columns(DoubleType)
    val difference = Subtract(l.y, r.y)
    for (limit <- Limits.map(Literal(_))) {
      checkAsked(Abs(difference) <= limit, Doubles)
      checkAsked(Abs(Subtract(r.y, l.y)) < limit, Doubles)
      checkAsked(Literal(-0.1) <= difference && difference <= limit, Doubles)
    }
  }

  test("one limit alone of a rounded difference does not lose NaN") {
    val (l, r) = columns(DoubleType)
    for (limit <- Limits.map(Literal(_))) {
      checkAsked(Subtract(l.y, r.y) <= limit, Doubles)
      checkAsked(Subtract(l.y, r.y) >= limit, Doubles, trusted = "sort")
      checkAsked(Subtract(r.y, l.y) > limit, Doubles, trusted = "sort")
    }
  }

  test("a limit that is not finite, be it a column's, is left to the condition") {
    val (l, r) = columns(DoubleType)
    val few = Seq[Any](null, -0.1, 0.1, Double.MaxValue, Double.PositiveInfinity, Double.NaN)
    checkAsked(Abs(Subtract(l.y, r.y)) <= l.high, few, trusted = "lower upper")
    checkAsked(Abs(Subtract(l.y, r.y)) <= r.high, few, trusted = "lower upper")
    for (limit <- Seq(Double.NaN, Double.PositiveInfinity, Double.NegativeInfinity)) {
      checkAsked(Abs(Subtract(l.y, r.y)) <= Literal(limit), few, trusted = "lower upper")
    }
  }

  test("a difference of FLOATs is rounded more coarsely, compared as FLOAT or as DOUBLE") {
    val (l, r) = columns(FloatType)
    val floats = Seq[Any](
      null,
      0.1f,
      0.2f,
      0.3f,
      16777216f,
      16777218f,
      Float.MaxValue,
      Float.MinValue,
      Float.PositiveInfinity,
      Float.NaN)
    for (limit <- Seq(0.1f, 0.2f, 1f, 16777217f, Float.MaxValue)) {
      checkAsked(Abs(Subtract(l.y, r.y)) <= Literal(limit), floats)
      val asDouble = Cast(Abs(Subtract(l.y, r.y)), DoubleType)
      for (d <- Seq(limit.toDouble, Math.nextDown(limit.toDouble), 1e300)) {
        checkAsked(asDouble <= Literal(d), floats)
      }
    }
  }

  test("a difference of small decimals is a band") {
    val (l, r) = (new Columns("l", DecimalType(8, 2)), new Columns("r", DecimalType(9, 3)))
    val values = Seq[Any](null, "-9999.99", "0", "0.01", "0.10", "9999.99")
    def decimals(scale: Int) = values.map {
      case s: String => Decimal(BigDecimal(s), 9, scale)
      case other     => other
    }
    val d = Subtract(l.y, r.y)
    val wide = Cast(d, DecimalType(20, 4))
    val limit = Literal(Decimal(BigDecimal("0.1000"), 20, 4), DecimalType(20, 4))
    assertSameMeaning(Abs(wide) <= limit, decimals(3))
    assertSameMeaning(-limit < wide && wide <= limit, decimals(3))
    assert(range(-limit < wide && wide <= limit).upperTest.exists(_.isLosslessType))
  }

  test("columns of small integers are widened to the type of a band") {
    for ((small, values) <- Seq[(DataType, Seq[Any])](
        ByteType -> Seq[Byte](Byte.MinValue, 0, 10, Byte.MaxValue),
        ShortType -> Seq[Short](Short.MinValue, 0, 10, Short.MaxValue)
      )) {
      val (l, r) = columns(small)
      val (left, right) = (Cast(l.y, IntegerType), Cast(r.y, IntegerType))
      check(between(right, minus(left, 10), plus(left, 10)), null +: values)
      check(between(minus(left, right), Literal(-10), Literal(10)), null +: values)
      check(Abs(minus(left, right), failOnError = true) <= 10, null +: values)
      check(
        between(wrappedMinus(left, right), Literal(-10), Literal(10)),
        null +: values,
        trusted = "lower upper"
      )
    }
  }

  test("days between dates limit a band, which wraps around whatever the mode") {
    val (l, r) = columns(DateType)
    val dates = Seq[Any](null, Int.MinValue, -1, 0, 2, 3, Int.MaxValue)
    check(between(DateDiff(l.y, r.y), Literal(-2), Literal(2)), dates, "lower upper")
    check(between(DateDiff(r.y, l.y), Literal(0), Literal(2)), dates, "lower upper")
    check(Abs(DateDiff(l.y, r.y), failOnError = true) <= 2, dates, "lower upper sort evict")
  }

  test("the interval between dates limits a band") {
    val (l, r) = columns(DateType)
    check(
      between(SubtractDates(l.y, r.y, legacyInterval = false), -Day, Day),
      Seq(null, Int.MinValue, -1, 0, 2, Int.MaxValue)
    )
  }

  test("a difference of intervals, which raises on overflow in every mode, is a band") {
    for ((dataType, values) <- Seq[(DataType, Seq[Any])](
        DayTimeIntervalType() -> Seq(null, Long.MinValue, -1L, 0L, 2L, Long.MaxValue),
        YearMonthIntervalType() -> Seq(null, Int.MinValue, -1, 0, 2, Int.MaxValue)
      )) {
      val (l, r) = columns(dataType)
      val two = Literal(values(4), dataType)
      for (difference <- Seq(minus(l.y, r.y), wrappedMinus(l.y, r.y))) {
        check(-two <= difference && difference <= two, values)
        check(Abs(difference, failOnError = true) <= two, values)
      }
    }
  }

  test("dates are shifted by days") {
    val (l, r) = columns(DateType)
    check(
      between(r.y, DateSub(l.y, Literal(2)), DateAdd(l.y, Literal(2))),
      Seq(null, Int.MinValue, -1, 0, 2, Int.MaxValue)
    )
  }

  test("timestamps are shifted by an interval, across the end of daylight saving too") {
    for (dataType <- Seq(TimestampType, TimestampNTZType); interval <- Seq(Hour, Day)) {
      val (l, r) = columns(dataType)
      val end = PlusInterval(l.y, interval, Zone)
      check(r.y >= l.y && r.y < end, Instants)
    }
  }

  test("the interval between timestamps is one of local times, and limits a band of those") {
    for (dataType <- Seq(TimestampType, TimestampNTZType)) {
      val (l, r) = columns(dataType)
      val difference = SubtractTimestamps(l.y, r.y, legacyInterval = false, Zone)
      check(between(difference, -Hour, Hour), Instants)
      check(difference > -Hour && difference < Hour, Instants)
      check(Abs(difference, failOnError = true) <= Hour, Instants)
    }
  }

  test("a date and a timestamp are compared by what one is cast to") {
    val (l, r) = (new Columns("l", DateType), new Columns("r", TimestampType))
    val midnights = Seq(l.start, l.end).map(Cast(_, TimestampType, Zone))
    val found = range(between(r.y, midnights.head, midnights.last))
    assert(found.streamed == LeftSide)
    assert(Seq(found.lowerBound, found.upperBound).flatten.map(_.child) == midnights)
  }
}
