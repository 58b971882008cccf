// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import java.time.{LocalDate, LocalDateTime, LocalTime, ZoneId, ZoneOffset}
import java.util.concurrent.TimeUnit.SECONDS

import org.apache.spark.sql.types._

/** Dates, times and intervals. */
object TimeTypes {

  private def micros(time: LocalDateTime): Long =
    SECONDS.toMicros(time.toEpochSecond(ZoneOffset.UTC)) + time.getNano / 1000

  private val Zone = ZoneId.of("America/Los_Angeles")

  /** Hours around the nights at which daylight saving begins and ends. */
  private def localTime(draw: Draw): LocalDateTime = {
    val night =
      draw.pick(Seq(LocalDateTime.of(2024, 3, 9, 20, 0), LocalDateTime.of(2024, 11, 2, 20, 0)))
    night.plusMinutes(30L * draw.below(40))
  }

  private val FirstMoment = LocalDateTime.of(1, 1, 1, 0, 0)
  private val LastMoment = LocalDateTime.of(9999, 12, 31, 23, 59, 59, 999999000)

  private def timeDistance(draw: Draw): String = draw.below(7) match {
    case 0 => "INTERVAL '1' DAY"
    case 1 => "INTERVAL '1 02' DAY TO HOUR"
    case 2 => "INTERVAL '1' MONTH"
    case n => s"INTERVAL '${n - 2}' HOUR"
  }

  case object Dates extends RangeType("DATE", DateType) {
    override def plain(draw: Draw): Any =
      LocalDate.of(2024, 2, 20).plusDays(draw.below(40).toLong).toEpochDay.toInt
    override def extremes: Seq[Any] =
      Seq(LocalDate.of(1, 1, 1), LocalDate.of(9999, 12, 31), LocalDate.of(1582, 10, 15))
        .map(_.toEpochDay.toInt) ++ Seq(Int.MaxValue, Int.MinValue)
    override def below(column: String, draw: Draw): String = {
      val days = draw.below(6)
      draw.pick(Seq(
        s"$column - INTERVAL '$days' DAY",
        s"date_sub($column, $days)",
        s"add_months($column, -1)",
        s"$column - INTERVAL '1' YEAR"
      ))
    }
    override def above(column: String, draw: Draw): String = {
      val days = draw.below(6)
      draw.pick(Seq(
        s"$column + INTERVAL '$days' DAY",
        s"date_add($column, $days)",
        s"$column + $days",
        s"add_months($column, ${days - 1})",
        s"$column + INTERVAL '1' MONTH"))
    }
    override def band(column: String, amount: String): Option[(String, String)] =
      Some((s"date_sub($column, $amount)", s"date_add($column, $amount)"))
    override def differences: Seq[Subtraction] = Seq(
      Subtraction((x, y) => s"datediff($x, $y)", limit => limit.toString, wraps = true),
      Subtraction((x, y) => s"($x - $y)", limit => s"INTERVAL '$limit' DAY")
    )
    override def turning(column: String, amount: String): Seq[String] = Seq(
      s"date_sub(DATE'2024-04-01', day($column))",
      s"add_months(DATE'2024-04-30', 2 - month($column))",
      s"add_months($column, $amount - 9)",
      s"trunc($column, 'MM')",
      s"date_add($column, -7 * $amount)"
    )
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"make_date(2024, 3, $amount)",
      s"date_add($column, CAST(10 div $amount AS INT))",
      s"CAST(concat('2024-0', $amount, '-01') AS DATE)",
      s"date_add($column, fuzz_fussy($amount))"
    )
  }

  sealed abstract class Moments(name: String, dataType: DataType, make: String)
      extends RangeType(name, dataType) {
    override def below(column: String, draw: Draw): String = s"$column - ${timeDistance(draw)}"
    override def above(column: String, draw: Draw): String = s"$column + ${timeDistance(draw)}"
    override def band(column: String, amount: String): Option[(String, String)] =
      Some((s"$column - make_dt_interval(0, $amount)", s"$column + make_dt_interval(0, $amount)"))
    override def differences: Seq[Subtraction] =
      Seq(Subtraction((x, y) => s"($x - $y)", limit => s"INTERVAL '$limit' HOUR"))
    override def turning(column: String, amount: String): Seq[String] = Seq(
      s"date_trunc('DAY', $column)",
      s"$column + INTERVAL '1' DAY",
      s"$column + make_dt_interval(0, 0, -45 * $amount)",
      s"$column + INTERVAL '8' MONTH",
      s"to_utc_timestamp($column, 'Europe/Berlin')"
    )
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"$make(2024, 3, 10, $amount, 30, 0)",
      s"$column + make_dt_interval(0, CAST(10 div $amount AS INT))",
      s"$column + make_dt_interval(0, fuzz_fussy($amount))",
      s"$column + INTERVAL '1' HOUR * (10 / $amount)"
    )
  }

  case object Timestamps extends Moments("TIMESTAMP", TimestampType, "make_timestamp_ltz") {
    private def of(local: LocalDateTime) =
      SECONDS.toMicros(local.atZone(Zone).toEpochSecond) + local.getNano / 1000
    override def plain(draw: Draw): Any = of(localTime(draw))
    override def extremes: Seq[Any] =
      Seq(of(FirstMoment), of(LastMoment), Long.MaxValue, Long.MinValue)
  }

  case object LocalTimestamps
      extends Moments("TIMESTAMP_NTZ", TimestampNTZType, "make_timestamp_ntz") {
    override def plain(draw: Draw): Any = micros(localTime(draw))
    override def extremes: Seq[Any] = Seq(micros(FirstMoment), micros(LastMoment))
  }

  case class Times(time: DataType) extends RangeType("TIME", time) {
    override def plain(draw: Draw): Any =
      LocalTime.of(8, 0).plusMinutes(20L * draw.below(30)).toNanoOfDay
    override def extremes: Seq[Any] =
      Seq(0L, 1000L, LocalTime.MAX.toNanoOfDay / 1000 * 1000)
    override def below(column: String, draw: Draw): String =
      s"$column - INTERVAL '${draw.below(90)}' MINUTE"
    override def above(column: String, draw: Draw): String =
      s"$column + INTERVAL '${draw.below(90)}' MINUTE"
    override def band(column: String, amount: String): Option[(String, String)] =
      Some((
        s"$column - make_dt_interval(0, 0, $amount)",
        s"$column + make_dt_interval(0, 0, $amount)"
      ))
    override def turning(column: String, amount: String): Seq[String] = Seq(
      s"time_trunc('HOUR', $column)",
      s"make_time(23 - hour($column), minute($column), 0)",
      s"make_time($amount, minute($column), 0)"
    )
    override def raising(column: String, amount: String): Seq[String] = Seq(
      s"make_time($amount + 5, 0, 0)",
      s"$column + make_dt_interval(0, $amount)",
      s"make_time(fuzz_fussy($amount), 0, 0)"
    )
  }

  sealed abstract class Intervals(name: String, dataType: DataType, unit: String)
      extends RangeType(name, dataType) {
    private def distance(draw: Draw) = s"INTERVAL '${draw.below(6)}' $unit"
    override def below(column: String, draw: Draw): String = s"$column - ${distance(draw)}"
    override def above(column: String, draw: Draw): String = s"$column + ${distance(draw)}"
    override def band(column: String, amount: String): Option[(String, String)] =
      Some((s"$column - INTERVAL '1' $unit * $amount", s"$column + INTERVAL '1' $unit * $amount"))
    override def differences: Seq[Subtraction] =
      Seq(Subtraction((x, y) => s"($x - $y)", limit => s"INTERVAL '$limit' $unit"))
    override def sums: Seq[Subtraction] =
      differences.map(_.copy(of = (x, y) => s"($x + $y)"))
    override def turning(column: String, amount: String): Seq[String] =
      Seq(
        s"-$column",
        s"INTERVAL '9' $unit - $column",
        s"$column * ($amount - 10)",
        s"abs($column)")
    override def raising(column: String, amount: String): Seq[String] =
      Seq(s"$column / $amount", s"$column * 300000000", s"$column * fuzz_fussy($amount)")
  }

  case object MonthIntervals
      extends Intervals("INTERVAL YEAR TO MONTH", YearMonthIntervalType(), "MONTH") {
    override def plain(draw: Draw): Any = draw.below(60) - 20
    override def extremes: Seq[Any] = Seq(Int.MaxValue, Int.MinValue + 1, Int.MinValue, 0)
  }

  case object DayIntervals
      extends Intervals("INTERVAL DAY TO SECOND", DayTimeIntervalType(), "HOUR") {
    override def plain(draw: Draw): Any = SECONDS.toMicros(1800L * (draw.below(60) - 20))
    override def extremes: Seq[Any] = Seq(Long.MaxValue, Long.MinValue + 1, Long.MinValue, 1L)
  }
}
