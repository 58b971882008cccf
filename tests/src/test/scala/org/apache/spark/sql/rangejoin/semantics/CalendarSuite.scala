// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm

import org.scalatest.tagobjects.Slow

/** Days and months are those of the calendar, in the time zone of the session. */
class CalendarSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast)

  private val zones =
    Seq("America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "UTC")

  private val QuickZones = Set("Europe/Berlin", "Australia/Lord_Howe")

  for (zone <- zones) {
    test(s"whole days are days of the calendar in $zone", slowIf(!QuickZones(zone)): _*) {
      withConf(Zone -> zone) {
        def hours(from: String) = spark.sql(
          s"""SELECT year(t) AS k, unix_micros(t) AS id, t FROM (SELECT explode(sequence(
             |  timestamp '$from 00:00:00', timestamp '$from 00:00:00' + interval 60 hours,
             |  interval 30 minutes)) AS t)""".stripMargin)
        val cases = for {
          from <- Seq("2024-03-09", "2024-03-30", "2024-10-05", "2024-10-26", "2024-11-02")
          (band, joinType) <- Seq(
            "r.t BETWEEN l.t - INTERVAL '1' DAY AND l.t + INTERVAL '1' DAY" -> Inner,
            "r.t >= l.t + INTERVAL '1' DAY AND r.t < l.t + INTERVAL '25' HOUR" -> FullOuter,
            "abs(l.t - r.t) <= INTERVAL '90' MINUTE" -> LeftOuter
          )
        } yield (from, band, joinType)
        for ((from, band, joinType) <- oneIn(3)(cases)) {
          for (side <- Seq("l", "r")) hours(from).createOrReplaceTempView(side)
          def query = joinOn(joinType, s"l.k = r.k AND $band")
          assert(checkAgainstStock(query, engines = oneOf(band + from + zone)) > 0)
        }
      }
    }
  }

  test("a day is 23 or 25 hours long where the clock is changed") {
    withConf(Zone -> "America/Los_Angeles") {
      // Ten in the morning on the day before, and on the day of, the change in spring and autumn.
      tables("k STRING, t TIMESTAMP")(
        "'spring', '2024-03-09 10:00:00'",
        "'autumn', '2024-11-02 10:00:00'")(
        "'spring', '2024-03-10 10:00:00'",
        "'spring', '2024-03-10 11:00:00'",
        "'autumn', '2024-11-03 09:00:00'",
        "'autumn', '2024-11-03 10:00:00'")
      def after(interval: String) = s"r.t BETWEEN l.t + $interval AND l.t + $interval"
      check(after("INTERVAL '1' DAY"), SomeTypes)(1 -> 1, 2 -> 4)
      check(after("INTERVAL '23' HOUR"), InnerAndFull)(1 -> 1)
      // Spark takes whole days out of an interval of hours.
      check(after("INTERVAL '24' HOUR"), InnerAndFull)(1 -> 1, 2 -> 4)
      check(after("INTERVAL '25' HOUR"), InnerAndFull)(1 -> 2)
      check(after("make_interval(0, 0, 0, 0, 24)"), InnerAndFull)(1 -> 2, 2 -> 3)
    }
  }

  test("an hour that the clock shows twice is not one hour") {
    withConf(Zone -> "America/Los_Angeles") {
      val (first, second) = (
        "1, timestamp '2024-11-03 01:30:00'",
        "1, timestamp '2024-11-03 01:30:00' + INTERVAL '1' HOUR")
      tables("k INT, t TIMESTAMP")(first, second)(first, second)
      check("r.t BETWEEN l.t AND l.t", SomeTypes)(1 -> 1, 2 -> 2)
      check("r.t > l.t AND r.t <= l.t + INTERVAL '1' HOUR", InnerAndFull)(1 -> 2)
      // A difference is one of local times.
      val all = Seq(1 -> 1, 1 -> 2, 2 -> 1, 2 -> 2)
      check("abs(l.t - r.t) <= INTERVAL '0' HOUR", SomeTypes)(all: _*)
      check("l.t - r.t BETWEEN INTERVAL '0' HOUR AND INTERVAL '1' HOUR", InnerAndFull)(all: _*)
    }
  }

  test("a local time that the clock leaves out is compared as Spark casts it") {
    withConf(Zone -> "America/Los_Angeles") {
      table("l", "k INT, t TIMESTAMP")("1, '2024-03-10 03:00:00'", "1, '2024-03-10 03:30:00'")
      table("r", "k INT, t TIMESTAMP_NTZ")(
        "1, '2024-03-10 02:30:00'",
        "1, '2024-03-10 03:30:00'",
        "1, '2024-03-10 02:00:00'",
        "1, '2024-03-10 01:59:59'")
      // Half past two is half past three.
      check("r.t BETWEEN l.t AND l.t", SomeTypes)(1 -> 3, 2 -> 1, 2 -> 2)
      check("r.t >= l.t", SomeTypes)(1 -> 1, 1 -> 2, 1 -> 3, 2 -> 1, 2 -> 2)
      check(
        "l.t BETWEEN r.t AND r.t + INTERVAL '1' HOUR",
        InnerAndFull)(idPairs("1: 3 4, 2: 1 2 4"): _*)
      checkRange("abs(l.t - r.t) <= INTERVAL '30' MINUTE", FullOuter)
    }
  }

  test("calendar intervals of days and of hours") {
    for (zone <- Seq("America/Los_Angeles", "UTC")) withConf(Zone -> zone) {
      tables("k INT, t TIMESTAMP")(
        "1, '2024-03-09 02:30:00'",
        "1, '2024-03-10 01:30:00'",
        "1, '2024-03-09 03:30:00'")(
        "1, '2024-03-10 03:30:00'",
        "1, '2024-03-10 01:30:00'",
        "1, '2024-03-11 01:30:00'")
      val day = "make_interval(0, 0, 0, 1)"
      for (joinType <- InnerAndFull) {
        checkRange(s"r.t >= l.t + $day AND r.t < l.t + make_interval(0, 0, 0, 1, 1)", joinType)
        checkRange(s"r.t - $day <= l.t AND r.t >= l.t", joinType)
      }
      checkRange(s"r.t >= l.t + $day", LeftAnti)
    }
  }

  test("local times in a zone that the other side names") {
    withConf(Zone -> "America/Los_Angeles") {
      table("l", "k INT, t TIMESTAMP")(
        "1, '2024-03-09 10:00:00'",
        "1, '2024-03-10 03:00:00'",
        "1, '2024-03-12 00:00:00'",
        "1, NULL")
      table("r", "k INT, t TIMESTAMP, zone STRING")(
        "1, '2024-03-10 03:00:00', 'Asia/Tokyo'",
        "1, '2024-03-10 03:00:00', 'America/New_York'",
        "1, '2024-03-10 03:00:00', NULL",
        "1, '2024-03-11 21:00:00', '+18:00'",
        "2, '2024-03-11 21:00:00', 'Nowhere'"
      )
      val local = "from_utc_timestamp(l.t, r.zone)"
      check(
        s"$local >= from_utc_timestamp(r.t, r.zone)",
        InnerAndFull)(idPairs("2: 1 2, 3: 1 2 4"): _*)
      check(s"$local >= r.t AND $local < r.t + INTERVAL '1' DAY")(2 -> 1, 3 -> 4)
      check(s"to_date($local) = to_date(r.t)")(2 -> 1)
      checkRange(
        "to_utc_timestamp(l.t, r.zone) BETWEEN r.t - INTERVAL '20' HOUR AND r.t",
        FullOuter)
      checkRange("convert_timezone('UTC', r.zone, l.t) > r.t")
    }
  }

  test("a zone that there is not is an error of the pairs in range") {
    table("l", "k INT, t TIMESTAMP")("1, '2024-03-09 10:00:00'")
    table("r", "k INT, t TIMESTAMP, zone STRING")(
      "1, '2024-03-09 10:00:00', 'Nowhere'",
      "2, '2024-03-09 10:00:00', 'UTC'")
    val local = "from_utc_timestamp(l.t, r.zone) >= r.t"
    for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
      val error = intercept[Exception](joinOn(Inner, keyed(local)).collect())
      assert(causes(error).exists(_.getMessage.contains("Nowhere")))
    }
    check(s"r.zone = 'UTC' AND $local")()
  }

  test("months are of different lengths, with a zone and without") {
    for (columnType <- Seq("TIMESTAMP_NTZ", "TIMESTAMP", "DATE")) {
      tables(s"k INT, t $columnType")(
        "1, '2026-01-30 23:00:00'",
        "1, '2026-01-31 01:00:00'",
        "1, '2026-01-28 00:00:00'")(
        "1, '2026-02-28 02:00:00'",
        "1, '2026-02-28 12:00:00'",
        "1, '2026-02-28 00:00:00'")
      checkRange("r.t >= add_months(l.t, 1) AND r.t <= add_months(l.t, 2)")
      if (columnType != "DATE") {
        assert(checkRange(
          "r.t >= l.t + make_interval(0, 1) AND r.t <= l.t + make_interval(0, 1, 0, 1)") > 0)
        checkRange("r.t >= l.t + INTERVAL '1' MONTH AND r.t <= l.t + INTERVAL '2' MONTH")
      }
    }
  }

  test("months from a date, as a bound of either side", Slow) {
    val days =
      Seq("2024-01-29", "2024-01-30", "2024-01-31", "2024-02-28", "2024-02-29", "2024-03-01") ++
        Seq(
          "2020-01-31",
          "2020-02-28",
          "2023-02-28",
          "2024-05-31",
          "2024-11-30",
          "0001-01-01",
          "9999-12-31")
    val rows = days.map(d => s"1, '$d'") :+ "1, NULL"
    tables("k INT, t DATE")(rows: _*)(rows.reverse: _*)
    val ranges = for (n <- Seq(1, -1, 3, 12, -48)) yield {
      val (low, high) =
        if (n < 0) ("add_months(%s, " + n + ")", "%s") else ("%s", "add_months(%s, " + n + ")")
      Seq("l.t" -> "r.t", "r.t" -> "l.t").flatMap { case (x, y) =>
        Seq(
          s"$y BETWEEN ${low.format(x)} AND ${high.format(x)}",
          s"add_months($x, $n) <= $y AND $y < add_months($x, ${n + 1})",
          s"$x + INTERVAL '$n' MONTH >= $y")
      }
    }
    for ((range, i) <- ranges.flatten.zipWithIndex)
      assert(checkRange(range, JoinTypes(i % JoinTypes.size)) > 0, range)
  }

  test("months beyond the last date there is raise, or are not asked for", Slow) {
    val last = "DATE'+5881580-07-11'"
    tables("k INT, t DATE")(s"1, $last", "2, DATE'2024-01-31'", "3, NULL", s"4, $last")(
      "1, DATE'1900-01-01'",
      "2, DATE'2024-02-29'",
      "3, DATE'2024-02-29'",
      s"5, $last")
    for (on <- Seq(true, false); joinType <- JoinTypes) ansi(on) {
      checkRange("r.t BETWEEN l.t AND add_months(l.t, 1)", joinType)
      checkRange("l.t <= r.t AND add_months(l.t, 1) <= r.t", joinType)
      checkRange("l.t >= add_months(r.t, -1) AND l.t <= r.t", joinType)
    }
  }

  test("the last days of a month are the same day a month later") {
    for (columnType <- Seq("TIMESTAMP_NTZ", "TIMESTAMP", "DATE")) {
      tables(s"k INT, t $columnType")(
        "1, '2026-01-28'",
        "1, '2026-01-31'",
        "1, '2026-01-29'",
        "1, '2026-03-31'")("1, '2026-02-28'", "1, '2026-02-27'", "1, '2026-04-30'")
      val later = Seq(1 -> 1, 2 -> 1, 3 -> 1, 4 -> 3)
      check("r.t BETWEEN add_months(l.t, 1) AND add_months(l.t, 1)", SomeTypes)(later: _*)
      val month = "l.t + INTERVAL '1' MONTH"
      check(s"r.t BETWEEN $month AND $month", InnerAndFull)(later: _*)
      check("l.t BETWEEN r.t - INTERVAL '1' MONTH AND r.t - INTERVAL '1' MONTH", InnerAndFull)(
        1 -> 1)
      check("r.t < l.t - INTERVAL '1' MONTH", InnerAndFull)(4 -> 2)
    }
  }
}
