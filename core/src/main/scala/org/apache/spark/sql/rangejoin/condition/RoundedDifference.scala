// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import java.util.Locale

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.types._

/**
 * Reads `f(x - y) <= limit`, where `f` divides, rounds or counts whole units of time and the limit is a literal, as a
 * wider limit of `x - y` itself: `timestampdiff(MINUTE, a, b) <= 5` implies that `b - a` is no more than six minutes.
 * The predicate is evaluated again for the pairs that are left.
 *
 * The function is taken off from the outside in. Every step moves the limit outward by as much as the function can
 * round: by one for whole numbers, by the last digit for decimals, and by a relative `2^-50^` for doubles (rounding two
 * operands and a quotient takes at most `2^-51^`). Values that saturate (a cast of a double to an integer) do so far
 * beyond any limit that is read. If a value may wrap around inside of `f`, there is no limit.
 *
 * Differences of time are taken in local time of the session zone, as in Spark. A month has 28 to 31 days;
 * `months_between` takes the last days of two months as the same day.
 */
private[condition] class RoundedDifference(sideOf: Expression => Option[Side]) {
  import RoundedDifference._

  /** What `e <= limit` (`upper`) or `e >= limit` implies; nothing if that is not known. */
  def limits(e: Expression, limit: Expression, upper: Boolean): Seq[WideLimit] = limit match {
    case Number(value) => limits(e, value, upper)
    case _             => Nil
  }

  private def limits(e: Expression, limit: BigDecimal, upper: Boolean): Seq[WideLimit] = {
    def outward(by: BigDecimal) = if (upper) limit + by else limit - by
    if (limit.abs > Greatest) Nil
    else {
      ofWhole(e, limit, upper).getOrElse(e match {
        case t: TimestampDiff => ofUnits(t, outward(1), upper)
        case m: MonthsBetween =>
          val micros = microsOfMonths(outward(LastDigit), upper)
          ofTimes(m.date1, m.date2, m.timeZoneId, micros, upper)
        case d @ Divide(child, Divisor(by), _) =>
          limits(child, widened(outward(lastDigit(d.dataType)), upper) * by, upper)
        case IntegralDivide(child, Divisor(by), _) => limits(child, outward(1) * by, upper)
        case Abs(child, failOnError) if upper && (failOnError || !mayBeLeast(child)) =>
          limits(child, limit, upper = true) ++ limits(child, -limit, upper = false)
        case f: Floor                          => limits(f.child, outward(1), upper)
        case c: Ceil                           => limits(c.child, outward(1), upper)
        case r: RoundBase if isDigits(r.right) => limits(r.left, outward(1), upper)
        case c: Cast if c.dataType == IntegerType && limit.abs > GreatestInt => Nil
        case c: Cast                                                         =>
          ofCast(c).toSeq.flatMap(by => limits(c.child, widened(outward(by), upper), upper))
        case _ => Nil
      })
    }
  }

  /** The difference itself. */
  private def ofWhole(e: Expression, limit: BigDecimal, upper: Boolean): Option[Seq[WideLimit]] =
    Difference.of(e, sideOf).filter(_.arithmetic == WholeNumbers).map { d =>
      if (d.absolute && !upper) Nil else Seq(WideLimit(d, whole(limit, upper), upper))
    }

  private def ofUnits(t: TimestampDiff, limit: BigDecimal, upper: Boolean): Seq[WideLimit] = {
    val unit = t.unit.toUpperCase(Locale.ROOT)
    val micros = MicrosOfUnit.get(unit).map(limit * _)
      .orElse(MonthsOfUnit.get(unit).map(months => microsOfMonths(limit * months, upper)))
    micros.toSeq.flatMap(ofTimes(t.endTimestamp, t.startTimestamp, t.timeZoneId, _, upper))
  }

  private def ofTimes(
      end: Expression,
      start: Expression,
      zone: Option[String],
      limit: BigDecimal,
      upper: Boolean
  ): Seq[WideLimit] =
    if (limit.abs > GreatestMicros) Nil
    else {
      Difference.of(SubtractTimestamps(end, start, legacyInterval = false, zone), sideOf).toSeq
        .map(WideLimit(_, whole(limit, upper), upper))
    }
}

private[condition] object RoundedDifference {

  /** A limit that a difference of whole numbers keeps wherever the predicate holds. */
  case class WideLimit(difference: Difference, amount: Long, upper: Boolean)

  /** Greater limits are not read: doubles are whole numbers there, and casts are about to saturate. */
  private val Greatest = BigDecimal(1L << 50)
  private val GreatestInt = BigDecimal(1L << 30)
  private val GreatestMicros = BigDecimal(1L << 61)

  private val OfDoubles = BigDecimal(1) / BigDecimal(1L << 50)

  /** Months between two times are rounded to eight digits. */
  private val LastDigit = BigDecimal("0.0000001")

  /** By how many days a number of months may be off. */
  private val DaysOff = 8

  private val MicrosOfUnit = Map(
    "MICROSECOND" -> 1L,
    "MILLISECOND" -> MICROS_PER_MILLIS,
    "SECOND" -> MICROS_PER_SECOND,
    "MINUTE" -> MICROS_PER_MINUTE,
    "HOUR" -> MICROS_PER_HOUR,
    "DAY" -> MICROS_PER_DAY,
    "WEEK" -> 7 * MICROS_PER_DAY
  )

  private val MonthsOfUnit = Map("MONTH" -> 1, "QUARTER" -> 3, "YEAR" -> 12)

  private def microsOfMonths(months: BigDecimal, upper: Boolean): BigDecimal = {
    val daysOfMonth = if (upper == (months > 0)) 31 else 28
    val days = months * daysOfMonth + (if (upper) DaysOff else -DaysOff)
    days * MICROS_PER_DAY
  }

  /** A whole number is within a limit if it is within the next whole one. */
  private def whole(limit: BigDecimal, upper: Boolean): Long =
    limit.setScale(
      0,
      if (upper) BigDecimal.RoundingMode.FLOOR else BigDecimal.RoundingMode.CEILING).toLong

  /** Moved outward by the rounding of doubles. */
  private def widened(limit: BigDecimal, upper: Boolean): BigDecimal = {
    val by = limit.abs * OfDoubles
    if (upper) limit + by else limit - by
  }

  private def lastDigit(dataType: DataType): BigDecimal = dataType match {
    case d: DecimalType => BigDecimal(1, d.scale)
    case _              => 0
  }

  /** By how much a cast rounds, beside the rounding of doubles; None for other casts, and where it may wrap around. */
  private def ofCast(c: Cast): Option[BigDecimal] = condOpt((c.child.dataType, c.dataType)) {
    case (from: IntegralType, to: IntegralType) if Arithmetic.widens(from, to) => 0
    case (_: IntegralType, DoubleType)                                         => 0
    case (_: IntegralType | _: DecimalType, to: DecimalType)                   => lastDigit(to)
    case (DoubleType, IntegerType | LongType)                                  => 1
    case (_: DecimalType, _: IntegralType) if c.evalMode != EvalMode.LEGACY    => 1
  }

  /** Whether a value may be the least of its type, whose absolute value may be itself. */
  private def mayBeLeast(e: Expression): Boolean = e match {
    case t: TimestampDiff                => t.unit.toUpperCase(Locale.ROOT) == "MICROSECOND"
    case IntegralDivide(_, Number(n), _) => n < 2
    case _                               => e.dataType.isInstanceOf[IntegralType]
  }

  private def isDigits(e: Expression): Boolean = cond(e) { case Number(n) => n >= 0 }

  /** A number to divide by whose quotients are neither too small nor too large. */
  private object Divisor {
    def unapply(e: Expression): Option[BigDecimal] =
      Number.unapply(e).filter(n => n >= 1 && n <= Greatest)
  }

  private object Number {
    def unapply(e: Expression): Option[BigDecimal] = condOpt(e) {
      case Literal(d: Double, DoubleType) if !d.isNaN && !d.isInfinite =>
        BigDecimal(new java.math.BigDecimal(d))
      case Literal(d: Decimal, _: DecimalType)           => d.toBigDecimal
      case Literal(n: java.lang.Number, _: IntegralType) => BigDecimal(n.longValue)
    }
  }
}
