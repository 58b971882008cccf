/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.{MICROS_PER_DAY, MICROS_PER_HOUR}
import org.apache.spark.sql.types._

import org.scalatest.funsuite.AnyFunSuite

/** Ranges over columns of every supported type, as users write them. */
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

  test("intervals of every supported type overlap, and hold points") {
    val types = Seq[(DataType, Seq[Any])](
      ByteType -> Seq[Byte](Byte.MinValue, 0, 1, Byte.MaxValue),
      ShortType -> Seq[Short](Short.MinValue, 0, 1, Short.MaxValue),
      IntegerType -> Seq(Int.MinValue, 0, 1, Int.MaxValue),
      LongType -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      DateType -> Seq(Int.MinValue, 0, 1, Int.MaxValue),
      TimestampType -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      TimestampNTZType -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue),
      DayTimeIntervalType() -> Seq(Long.MinValue, 0L, 1L, Long.MaxValue)
    )
    for ((dataType, values) <- types) {
      val (l, r) = columns(dataType)
      check(l.start <= r.end && r.start < l.end, null +: values)
      check(l.start < r.y && r.y < l.end, null +: values)
      check(r.start < l.y && l.y < r.end, null +: values)
    }
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
      val end = TimestampAddInterval(l.y, interval, Zone)
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
