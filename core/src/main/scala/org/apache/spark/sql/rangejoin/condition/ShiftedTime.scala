// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.{cond, condOpt}
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.rangejoin.kernel.OrderedValue
import org.apache.spark.sql.rangejoin.shims.{RaisingArithmetic, TimestampPlusInterval}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/**
 * A date or time that is made of a value of one side, in a time zone that is a column of the other: whatever the zone,
 * it is within a few days of the value. So its comparison is a wider range: `from_utc_timestamp(l.t, r.zone) >= r.t`
 * implies `l.t + 18 hours >= r.t`. The condition is evaluated again.
 *
 * All are microseconds, of an instant or of local time. java.time has offsets of up to 18 hours, before and after UTC.
 *
 * @param value the value of one side, in microseconds
 * @param least by how much the time is above it, at least; a negative number for a time below it
 * @param most likewise, at most
 */
private[condition] case class ShiftedTime(value: Expression, least: Long, most: Long) {

  private def by(low: Long, high: Long): Option[ShiftedTime] =
    if (Seq(low, high).forall(isSmall)) {
      Some(copy(least = least + low, most = most + high)).filter(t =>
        isSmall(t.least) && isSmall(t.most))
    } else None

  private def within(slack: Long): Option[ShiftedTime] = by(-slack, slack)

  /** Dates, and sums of these numbers, stay far from where days and microseconds wrap around. */
  private def isSmall(micros: Long): Boolean = micros > -(1L << 60) && micros < (1L << 60)
}

private[condition] object ShiftedTime {

  /** The test that a comparison with a time of both sides implies, if there is one. */
  def test(c: Comparison, sideOf: Expression => Option[Side]): Option[RangeTest] =
    for {
      lesser <- of(c.lesser, sideOf) if Seq(c.lesser, c.greater).exists(sideOf(_).isEmpty)
      greater <- of(c.greater, sideOf)
      side <- sideOf(lesser.value)
      if sideOf(greater.value).exists(_ != side)
    } yield {
      val shift = Literal(lesser.least - greater.most)
      val lowest = Add(lesser.value, shift, RaisingArithmetic.Raising)
      RangeTest(lowest, greater.value, side, strict = false, c.predicate, exact = Inexact)
    }

  /** Whether there is a time zone that need not be a constant. */
  def hasZone(e: Expression): Boolean = e.exists(cond(_) {
    case _: FromUTCTimestamp | _: ToUTCTimestamp | _: ConvertTimezone => true
  })

  private val Offset = 18 * MICROS_PER_HOUR

  private def of(e: Expression, sideOf: Expression => Option[Side]): Option[ShiftedTime] = {
    def read(child: Expression) = of(child, sideOf)
    e match {
      case _ if sideOf(e).isDefined => microsOf(e).map(ShiftedTime(_, 0L, 0L))
      case FromUTCTimestamp(t, _)   => read(t).flatMap(_.within(Offset))
      case ToUTCTimestamp(t, _)     => read(t).flatMap(_.within(Offset))
      case ConvertTimezone(_, _, t) => read(t).flatMap(_.within(2 * Offset))
      case Cast(t, to, _, _)        => read(t).flatMap(ofCast(_, t.dataType, to))
      // A day of local time has up to two days of hours, if its zone changes sides of the date line.
      case TruncTimestamp(UpToDay(), t, _) =>
        read(t).flatMap(_.by(-4 * MICROS_PER_DAY, 3 * MICROS_PER_DAY))
      // Days are counted in the session zone.
      case TimestampPlusInterval(t, Micros(step)) =>
        read(t).flatMap(_.by(step, step)).flatMap(_.within(2 * Offset))
      case DateAdd(d, Days(step)) => read(d).flatMap(_.by(step, step))
      case DateSub(d, Days(step)) => read(d).flatMap(_.by(-step, -step))
      case _                      => None
    }
  }

  private def microsOf(e: Expression): Option[Expression] = condOpt(e.dataType) {
    case TimestampType | TimestampNTZType => OrderedValue(e)
    case DateType                         => Difference.microsOfDays(OrderedValue(e))
  }

  private def ofCast(time: ShiftedTime, from: DataType, to: DataType): Option[ShiftedTime] =
    (from, to) match {
      case (TimestampType, TimestampNTZType) | (TimestampNTZType, TimestampType) =>
        time.within(Offset)
      case (TimestampNTZType, DateType) => time.by(-MICROS_PER_DAY, 0)
      case (TimestampType, DateType)    => time.by(-MICROS_PER_DAY - Offset, Offset)
      case (DateType, TimestampNTZType) => Some(time)
      // The day may begin later than at midnight, by as much as the clock is put forward.
      case (DateType, TimestampType) => time.by(-Offset, Offset + MICROS_PER_DAY)
      case _                         => None
    }

  private object UpToDay {
    def unapply(format: Expression): Boolean = cond(format) {
      case Literal(f: UTF8String, _) =>
        val level = DateTimeUtils.parseTruncLevel(f)
        level >= DateTimeUtils.TRUNC_TO_MICROSECOND && level <= DateTimeUtils.TRUNC_TO_DAY
    }
  }

  private object Micros {
    def unapply(step: Expression): Option[Long] = step match {
      case Literal(micros: Long, _: DayTimeIntervalType)    => Some(micros)
      case Literal(i: CalendarInterval, _) if i.months == 0 =>
        Try(Math.addExact(
          i.microseconds,
          Math.multiplyExact(i.days.toLong, MICROS_PER_DAY))).toOption
      case _ => None
    }
  }

  private object Days {
    def unapply(step: Expression): Option[Long] = step match {
      case Literal(days: Number, _) =>
        Try(Math.multiplyExact(days.longValue, MICROS_PER_DAY)).toOption
      case _ => None
    }
  }
}
