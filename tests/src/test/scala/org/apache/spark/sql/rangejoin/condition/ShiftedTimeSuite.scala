// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import java.time.{LocalDate, LocalDateTime, ZoneOffset}

import org.apache.spark.sql.catalyst.dsl.expressions._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import org.scalatest.funsuite.AnyFunSuite

/** Times in a zone that is a column of the other side. */
class ShiftedTimeSuite extends AnyFunSuite with TwoSides {
  private def column(side: String, name: String, dataType: DataType) =
    AttributeReference(name, dataType)(qualifier = Seq(side))

  private val (lt, rt) = (column("l", "t", TimestampType), column("r", "t", TimestampType))
  private val (ln, rn) = (column("l", "n", TimestampNTZType), column("r", "n", TimestampNTZType))
  private val rd = column("r", "d", DateType)
  private val (lz, rz) = (column("l", "zone", StringType), column("r", "zone", StringType))

  private val Session = Some("America/Los_Angeles")
  private def zoned(e: Expression): Expression = e.transform {
    case c: TimeZoneAwareExpression if c.timeZoneId.isEmpty => c.withTimeZone(Session.get)
  }
  private def dateOf(e: Expression) = Cast(e, DateType, Session)
  private def later(e: Expression, days: Int) = DateAdd(e, Literal(days))
  private def plusHours(e: Expression, hours: Long): Expression =
    PlusInterval(e, Literal.create(hours * MICROS_PER_HOUR, DayTimeIntervalType()), Session)

  private def from(t: Expression, zone: Expression) = FromUTCTimestamp(t, zone)
  private def to(t: Expression, zone: Expression) = ToUTCTimestamp(t, zone)

  private def micros(t: LocalDateTime): Long =
    t.toEpochSecond(ZoneOffset.UTC) * MICROS_PER_SECOND + t.getNano / 1000

  // Around the change of the clock, 18 and 36 hours apart, around the day that Apia has not had, and of local mean time.
  private val instants: Seq[Any] = null +: Seq(
    LocalDateTime.of(2024, 3, 10, 9, 30),
    LocalDateTime.of(2024, 3, 10, 22, 0),
    LocalDateTime.of(2024, 3, 11, 3, 30),
    LocalDateTime.of(2024, 3, 11, 21, 30),
    LocalDateTime.of(2011, 12, 30, 9, 59),
    LocalDateTime.of(1883, 11, 18, 12, 0)
  ).map(micros)

  private val zones: Seq[Any] =
    null +: Seq("America/Los_Angeles", "Pacific/Apia", "+18:00", "-18:00")
      .map(UTF8String.fromString)

  private val days: Seq[Any] = null +: Seq(
    LocalDate.of(2024, 3, 9),
    LocalDate.of(2024, 3, 11),
    LocalDate
      .of(2011, 12, 30)).map(_.toEpochDay.toInt)

  private def valuesOf(a: Attribute): Seq[Any] = a.dataType match {
    case StringType => zones
    case DateType   => days
    case _          => instants
  }

  private def check(condition: Expression): Unit =
    assertMeaning(zoned(condition))(valuesOf)

  test("a time of one side in a zone of the other bounds the other side") {
    val slack = 18 * MICROS_PER_HOUR
    for (shift <- Seq[(Expression, Expression) => Expression](from, to)) {
      val found = Form.of(range(shift(lt, rz) >= shift(rt, rz)))
      assert(Set(found.lower, found.upper) ==
        Set("", s"(${shift(rt, rz).sql} + ${-slack}L) <= l.t"))
      assert(found.residual.nonEmpty)
    }
  }

  test("whatever the zones, the range has all matches") {
    for (shift <- Seq[(Expression, Expression) => Expression](from, to)) {
      check(shift(lt, rz) >= shift(rt, rz))
      check(shift(lt, rz) < rt)
      check(rt <= shift(lt, rz) && shift(lt, rz) < plusHours(rt, 2))
      check(shift(lt, rz) === rt)
    }
    check(from(lt, rz) <= to(rt, rz))
    check(from(to(lt, rz), rz) <= rt)
  }

  test("zones of both sides, each in the time of the other") {
    check(from(lt, rz) >= from(rt, lz))
    check(to(lt, rz) === from(rt, lz))
  }

  test("local times, and dates after it") {
    val converted = ConvertTimezone(Literal("UTC"), rz, ln)
    check(converted <= rn)
    check(ConvertTimezone(rz, Literal("Asia/Tokyo"), ln) === rn)
    check(Cast(converted, DateType) === rd)
    check(dateOf(from(lt, rz)) === rd)
    check(dateOf(to(lt, rz)) >= later(rd, 1))
    check(later(dateOf(from(lt, rz)), 1) <= rd)
    check(DateSub(dateOf(from(lt, rz)), Literal(3)) <= rd)
    check(Cast(dateOf(from(lt, rz)), TimestampType, Session) === rt)
    check(Cast(from(lt, rz), TimestampNTZType, Session) <= rn)
    check(TruncTimestamp(Literal("DAY"), from(lt, rz), Session) === rt)
  }

  test("intervals before and after it") {
    check(from(plusHours(lt, 30), rz) <= rt)
    check(plusHours(from(lt, rz), -30) >= rt)
    check(plusHours(from(lt, rz), 24) < plusHours(rt, 3))
  }

  test("at the ends of the type the condition decides, or raises") {
    val extremes = Seq[Any](null, Long.MaxValue, Long.MaxValue - MICROS_PER_DAY, 0L, Long.MinValue)
    val few = zones.take(3)
    for (condition <-
        Seq(from(lt, rz) >= rt, to(lt, rz) === rt, dateOf(from(lt, rz)) <= dateOf(rt)))
      assertMeaning(zoned(condition))(a => if (a.dataType == StringType) few else extremes)
  }

  test("what is not within days of a value of one side is refused") {
    for (refused <- Seq[Expression](
        TruncTimestamp(Literal("YEAR"), from(lt, rz), Session) >= rt,
        TruncTimestamp(rz, lt, Session) >= rt,
        later(dateOf(from(lt, rz)), Int.MaxValue) >= rd,
        DateAdd(dateOf(from(lt, rz)), Cast(rd, IntegerType)) >= rd,
        from(lt, rz) >= lt,
        Cast(from(lt, rz), LongType, Session) >= Cast(rt, LongType, Session)
      )) assert(extract(zoned(refused)).isLeft, refused.sql)
  }
}
