// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_HOUR}
import org.apache.spark.sql.rangejoin.kernel.{OrderedValue, RangeBound}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

import org.scalatest.funsuite.AnyFunSuite

/**
 * What is proven to rise with a column. Each proof is held against values: sorted by the column,
 * bounds do not fall. What is not proven has a pair of values, where there is one, that shows why.
 */
class MonotoneColumnSuite extends AnyFunSuite {
  private val Zone = Some("America/Los_Angeles")
  private val ints =
    Seq[Any](Int.MinValue, Int.MinValue + 9, -1, 0, 8, Int.MaxValue - 9, Int.MaxValue)

  // The clock of the zone went from 1:59 to 1:00 at this instant, 2026-11-01 09:00 UTC.
  private val ClockBack = 1793523600000000L
  private val instants = (-30 to 30).map(hours => ClockBack + hours * MICROS_PER_HOUR)

  private val t = AttributeReference("t", IntegerType)()
  private val b = AttributeReference("b", ByteType)()
  private val s = AttributeReference("s", IntegerType)()
  private val day = AttributeReference("day", DateType)()
  private val ts = AttributeReference("ts", TimestampType)()
  private val ntz = AttributeReference("ntz", TimestampNTZType)()

  private def bound(e: Expression, trusted: Option[Expression] = None): RangeBound =
    RangeBound(e, trusted, unboundedBelow = true, strict = false)

  /** The bounds of ascending values; none for a value whose bound raises and so is unknown. */
  private def values(e: Expression, column: Attribute, ascending: Seq[Any]): Seq[Long] = {
    val ordered = bindReference(OrderedValue(e): Expression, Seq(column))
    ascending.flatMap(v => Try(ordered.eval(InternalRow(v)).asInstanceOf[Long]).toOption)
  }

  private def risesOver(e: Expression, column: Attribute, ascending: Seq[Any]): Boolean = {
    val found = values(e, column, ascending)
    assert(found.size > 2)
    found == found.sorted
  }

  private def assertRises(e: Expression, column: Attribute, ascending: Seq[Any]): Unit = {
    assert(MonotoneColumn.of(bound(e)).contains(column), e.sql)
    assert(risesOver(e, column, ascending), e.sql)
  }

  private def assertFalls(e: Expression, column: Attribute, ascending: Seq[Any]): Unit = {
    assert(MonotoneColumn.of(bound(e)).isEmpty, e.sql)
    assert(!risesOver(e, column, ascending), e.sql)
  }

  private def assertNotProven(e: Expression): Unit =
    assert(MonotoneColumn.of(bound(e)).isEmpty, e.sql)

  private def later(column: Attribute, micros: Long): Expression =
    PlusInterval(column, Literal(micros, DayTimeIntervalType()), Zone)

  private def later(column: Attribute, interval: CalendarInterval): Expression =
    PlusInterval(column, Literal(interval), Zone)

  test("a column rises with itself") {
    assertRises(t, t, ints)
    assertRises(OrderedValue(t), t, ints)
  }

  test("what is added or taken away does not change the order, if overflow raises") {
    for (amount <- Seq(10, 0, -10).map(Literal(_))) {
      assertRises(Add(t, amount, EvalMode.ANSI), t, ints)
      assertRises(Add(amount, t, EvalMode.ANSI), t, ints)
      assertRises(Subtract(t, amount, EvalMode.ANSI), t, ints)
    }
    assertRises(Subtract(Add(t, Literal(10), EvalMode.ANSI), Literal(3), EvalMode.ANSI), t, ints)
  }

  test("a sum that wraps around does not rise") {
    for (amount <- Seq(10, -10).map(Literal(_))) {
      assertFalls(Add(t, amount, EvalMode.LEGACY), t, ints)
      assertFalls(Subtract(t, amount, EvalMode.LEGACY), t, ints)
    }
  }

  test("a sum that stands still at the end of the type rises") {
    val long = AttributeReference("long", LongType)()
    val longs =
      Seq[Any](Long.MinValue, Long.MinValue + 9, -1L, 0L, 8L, Long.MaxValue - 9, Long.MaxValue)
    def below(from: Long, step: Long, mode: EvalMode.Value, end: Long = Long.MinValue) = CaseWhen(
      Seq(LessThan(long, Literal(from)) -> Literal(end)),
      Subtract(long, Literal(step), mode))
    def above(from: Long, step: Long, mode: EvalMode.Value, end: Long = Long.MaxValue) = CaseWhen(
      Seq(GreaterThan(long, Literal(from)) -> Literal(end)),
      Add(long, Literal(step), mode))
    for (mode <- Seq(EvalMode.ANSI, EvalMode.LEGACY)) {
      assertRises(below(Long.MinValue + 10, 10, mode), long, longs)
      assertRises(above(Long.MaxValue - 10, 10, mode), long, longs)
    }
    assertFalls(below(Long.MinValue + 5, 10, EvalMode.LEGACY), long, longs)
    assertFalls(above(Long.MaxValue - 5, 10, EvalMode.LEGACY), long, longs)
    assertFalls(below(Long.MinValue + 10, 10, EvalMode.LEGACY, end = 0), long, longs)
    assertFalls(above(Long.MaxValue - 10, 10, EvalMode.LEGACY, end = 0), long, longs)
    assertNotProven(below(Long.MaxValue - 10, -10, EvalMode.LEGACY))
  }

  test("an instant moved by its microseconds rises, if overflow raises") {
    def moved(mode: EvalMode.Value) = MicrosToTimestamp(
      Subtract(UnixMicros(ts), Literal(3 * MICROS_PER_DAY), mode))
    assertRises(moved(EvalMode.ANSI), ts, halfHours(instants) :+ Long.MaxValue)
    assertRises(moved(EvalMode.ANSI), ts, Long.MinValue +: halfHours(instants))
    assertFalls(moved(EvalMode.LEGACY), ts, Long.MinValue +: halfHours(instants))
  }

  test("a sum that is NULL on overflow is not proven to rise") {
    assertNotProven(Add(t, Literal(10), EvalMode.TRY))
  }

  test("what a column is taken away from falls") {
    assertFalls(Subtract(Literal(10), t, EvalMode.ANSI), t, ints)
    assertFalls(UnaryMinus(t, failOnError = true), t, ints)
  }

  test("a remainder, a product and an absolute value do not rise") {
    assertFalls(Remainder(t, Literal(7), EvalMode.ANSI), t, ints)
    assertFalls(Multiply(t, Literal(-1), EvalMode.ANSI), t, ints)
    assertFalls(Abs(t, failOnError = true), t, ints)
  }

  test("a term of two columns does not rise with one of them") {
    assertNotProven(Multiply(t, s, EvalMode.ANSI))
    assertNotProven(Add(t, s, EvalMode.ANSI))
    assertNotProven(Subtract(t, s, EvalMode.ANSI))
  }

  test("a widening cast keeps the order") {
    val bytes = Seq[Any](Byte.MinValue, (-1).toByte, 0.toByte, Byte.MaxValue)
    for (wide <- Seq(ByteType, ShortType, IntegerType, LongType)) {
      assertRises(Cast(b, wide), b, bytes)
    }
    assertRises(Add(Cast(t, LongType), Literal(10L), EvalMode.ANSI), t, ints)
  }

  test("a narrowing cast does not rise where it wraps around, and is not proven where it raises") {
    assertFalls(Cast(t, ByteType, Zone, EvalMode.LEGACY), t, Seq(0, 127, 128))
    assertNotProven(Cast(t, ByteType, Zone, EvalMode.ANSI))
  }

  test("a cast between kinds of types is not proven to rise") {
    assertNotProven(Cast(ts, LongType, Zone))
    assertNotProven(Cast(day, TimestampType, Zone))
    assertNotProven(Cast(t, DoubleType))
    val text = AttributeReference("text", StringType)()
    assertFalls(Cast(text, IntegerType), text, Seq("10", "2", "30").map(UTF8String.fromString))
  }

  test("a local time of a zone with daylight saving falls once a year") {
    assertFalls(Cast(ts, TimestampNTZType, Zone), ts, halfHours(instants))
  }

  test("a timestamp plus a part of a day rises, across the end of daylight saving too") {
    for (micros <- Seq(1L, MICROS_PER_HOUR, MICROS_PER_DAY - 1)) {
      assertRises(later(ts, micros), ts, instants)
      assertRises(later(ts, -micros), ts, instants)
      assertRises(later(ts, new CalendarInterval(0, 0, micros)), ts, instants)
    }
  }

  test("a timestamp plus whole days falls where a day has 25 hours") {
    assertFalls(later(ts, MICROS_PER_DAY), ts, halfHours(instants))
    assertFalls(later(ts, -MICROS_PER_DAY), ts, halfHours(instants))
    assertFalls(later(ts, new CalendarInterval(0, 1, 0L)), ts, halfHours(instants))
    assertNotProven(later(ts, new CalendarInterval(1, 0, 0L)))
  }

  private def halfHours(hours: Seq[Long]): Seq[Long] =
    hours.flatMap(instant => Seq(instant, instant + MICROS_PER_HOUR / 2))

  test("a local timestamp plus whole days rises") {
    for (days <- Seq(1, -1, 30)) {
      assertRises(later(ntz, days * MICROS_PER_DAY), ntz, instants)
      assertRises(later(ntz, new CalendarInterval(0, days, 7L)), ntz, instants)
    }
  }

  test("a date plus days wraps around, and is not proven to rise") {
    assertFalls(DateAdd(day, Literal(10)), day, ints)
    assertFalls(DateSub(day, Literal(10)), day, ints)
  }

  test("an interval that is a column is not proven to keep the order") {
    val interval = AttributeReference("i", DayTimeIntervalType())()
    assertNotProven(PlusInterval(ntz, interval, Zone))
  }

  test("a date plus months rises, as the last days of a month stay in order") {
    val leapYears = 19700 to 20900
    for (months <- Seq(1, -1, 3, -3, 12, -12, 48, 0, 1200)) {
      assertRises(AddMonths(day, Literal(months)), day, leapYears)
      assertRises(DateAddYMInterval(day, Literal(months, YearMonthIntervalType())), day, leapYears)
      assertRises(AddMonths(day, Literal(months)), day, ints)
    }
    assertNotProven(AddMonths(day, s))
    assertNotProven(AddMonths(day, Literal(null, IntegerType)))
  }

  test("a timestamp plus months falls where two days become one") {
    val lastDays = Seq(
      1769767200000000L, // 2026-01-30 10:00
      1769850000000000L // 2026-01-31 09:00
    ).flatMap(micros => Seq(micros, micros + 1))
    val month = Literal(1, YearMonthIntervalType())
    assertFalls(TimestampAddYMInterval(ntz, month, Some("UTC")), ntz, lastDays)
  }

  test("a bound that is trusted conditionally does not rise: it is unknown here and there") {
    assert(MonotoneColumn.of(bound(t, trusted = Some(t > 0))).isEmpty)
  }
}
