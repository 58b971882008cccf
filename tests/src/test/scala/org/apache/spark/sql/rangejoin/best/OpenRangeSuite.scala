// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.plan.MarkRangeJoins

import org.scalatest.tagobjects.Slow

/** Rankings by a distance above joins that have no range, so that all rows of a key are in it. */
class OpenRangeSuite extends BestMatchesTest {
  import BestMatchesTest._
  import OpenRangeSuite._

  private def sides(seed: Int, value: String = "$"): Unit =
    bothSides(80, 160, seed, keys = 4)(n => value.replace("$", n))

  /** Of those that tie, row_number takes any: so shows the distance alone, or all of them are ranked. */
  private def ranked(
      by: String,
      function: String = "rank()",
      limit: Int = 1,
      joinType: String = "LEFT",
      condition: String = "l.k = r.k"): String = {
    val shown = if (function == "row_number()") s"$by AS d" else "r.id AS rid, r.t AS rt"
    val order = if (by.endsWith("NULLS LAST")) by else s"$by NULLS LAST"
    val columns = s"l.id, ${shown.replace(" NULLS LAST", "")}"
    rankedPairs(columns, function, order, joinType, condition, limit)
  }

  /** Compares with stock Spark, whose join it stays. */
  private def checkLeft(query: String): Unit = {
    compare(query, Forms.take(1), nextEngine)(df => !joinOf(df).isInstanceOf[RangeJoinExec])
  }

  testOfCases("the nearest rows of a key, by rank", 8)(for {
    on <- Seq(true, false)
    (function, limit) <- Seq("row_number()" -> 3, "rank()" -> 2, "dense_rank()" -> 1)
    joinType <- Seq("INNER", "LEFT")
    residual <- Seq("", " AND r.v <> l.v", " AND r.t IS NOT NULL")
  } yield (on, function, limit, joinType, residual)) { cases =>
    sides(1)
    for ((on, function, limit, joinType, residual) <- cases)
      ansi(on)(check(ranked("abs(l.t - r.t)", function, limit, joinType, "l.k = r.k" + residual)))
  }

  test("NULL before all values: rows are in no order, and all are given") {
    sides(3)
    for (joinType <- Seq("INNER", "LEFT"); by <- Seq("abs(l.t - r.t)", "abs(r.t - l.t)"))
      check(ranked(by, "rank()", 2, joinType).replace("NULLS LAST", "NULLS FIRST"))
  }

  test(
    "rows whose time is not NULL, by a filter below, and one that both sides have to have",
    Slow) {
    sides(5)
    for (form <- Forms; engine <- nextEngine) withConf(engine: _*) {
      val known = ranked("abs(l.t - r.t)", "row_number()", 2)
        .replace("JOIN r", "JOIN (SELECT * FROM r WHERE t IS NOT NULL) r").replace("NULLS LAST", "")
      val same = ranked(
        "abs(l.t - r.t)",
        "row_number()",
        2,
        "INNER",
        "l.k = r.k AND (r.t <= l.t OR r.t >= l.t)").replace("NULLS LAST", "")
      for (query <- Seq(known, same)) {
        check(query, forms = Seq(form))
        val df = spark.sql(form.of(query))
        df.collect()
        // Of a row without a time all are given.
        val pairs = joinOf(df).metrics("numOutputRows").value
        assert(pairs <= 4 * 80 + 6 * 60, s"$query\n${executedPlan(df)}")
      }
    }
  }

  test(
    "the side that is ranked for is sorted by its time, too, so that matches of neighbours are near") {
    sides(45)
    for ((by, range) <- Seq("abs(l.t - r.t)" -> "", "r.t DESC" -> " AND r.t <= l.t"))
      compare(ranked(by, condition = s"l.k = r.k$range"), Forms.take(1), nextEngine)(
        joinOf(_).children.forall(_.outputOrdering.size == 2))
  }

  testOfCases("types of the time", 7)(Types.zipWithIndex) { cases =>
    for (((value, zone, distances), i) <- cases; on = i % 2 == 0) withConf(
      "spark.sql.session.timeZone" -> zone,
      "spark.sql.ansi.enabled" -> on.toString) {
      sides(7 + i, value)
      for (by <- distances; function <- Seq("row_number()", "rank()"))
        check(ranked(by, function, 2))
    }
  }

  testOfCases("NaN, infinities and both zeros", 6)(
    for (kind <- Seq("DOUBLE", "FLOAT"); limit <- 1 to 3) yield (kind, limit)) { ofKinds =>
    val value = (t: String) =>
      s"CASE $t % 9 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' " +
        s"WHEN 3 THEN '-0.0' WHEN 4 THEN '0.0' WHEN 5 THEN '1.7E308' WHEN 6 THEN '-1.7E308' ELSE string($t) END"
    for ((kind, limit) <- ofKinds) {
      sides(17, s"cast(${value("$")} AS $kind)")
      val functions = Seq("row_number()", "rank()", "dense_rank()")
      check(ranked("abs(l.t - r.t)", functions((limit + kind.length) % 3), limit))
      // Each at one of the limits.
      check(Seq(
        "SELECT l.id, min(abs(l.t - r.t)) FROM l JOIN r ON l.k = r.k GROUP BY l.id",
        "SELECT l.id, max(-abs(l.t - r.t)) FROM l JOIN r ON l.k = r.k GROUP BY l.id",
        ranked("-abs(l.t - r.t) DESC", "rank()", limit)
      )(limit % 3))
      val cases = for {
        by <- Seq("l.t - r.t", "r.t - l.t", "-(l.t - r.t)", "-(r.t - l.t)")
        range <- Seq("r.t >= l.t", "r.t <= l.t")
        direction <- Seq("ASC", "DESC")
      } yield (by, range, direction)
      for ((by, range, direction) <- oneIn(7)(cases)) {
        val query = ranked(s"$by $direction", "rank()", limit, "INNER", s"l.k = r.k AND $range")
        compare(query, Forms.take(1), nextEngine)(_ => true)
      }
    }
  }

  test("aggregates, and others beside them", Slow) {
    sides(19)
    for (join <- Seq("LEFT", "INNER").map(t => s"FROM l $t JOIN r ON l.k = r.k")) {
      check(s"SELECT l.id, min(abs(l.t - r.t)) $join GROUP BY l.id")
      check(s"SELECT l.v, max(-abs(l.t - r.t)), first(l.v) $join GROUP BY l.v")
      check(s"SELECT l.id, min(struct(abs(l.t - r.t), r.id)) $join GROUP BY l.id")
      check(s"SELECT l.id, min_by(abs(l.t - r.t), abs(r.t - l.t)) $join GROUP BY l.id")
      check(s"SELECT l.id, max_by(r.v * 0, -abs(r.t - l.t)) $join GROUP BY l.id")
      checkLeft(s"SELECT l.id, min(abs(l.t - r.t)), count(*) $join GROUP BY l.id")
      checkLeft(s"SELECT l.id, max(abs(l.t - r.t)) $join GROUP BY l.id")
    }
  }

  testOfCases("values at the ends of a type", 8)(for {
    // Without and with differences that wrap around.
    others <- Seq(Seq("2", "60"), Seq("0", "-9223372036854775807"))
    isTime <- Seq(false, true)
    nulls <- Seq("FIRST", "LAST")
    joinType <- Seq("LEFT", "INNER")
    condition <- Seq("l.k = r.k", "l.k = r.k AND r.t IS NOT NULL")
  } yield (others, isTime, nulls, joinType, condition)) { cases =>
    def of(others: Seq[String]) = {
      val ends = Seq("9223372036854775807", "9223372036854775806", "9223372036854775805") ++ others
      s"element_at(array(${ends.map(e => s"cast($e AS BIGINT)").mkString(", ")}), int($$ % 5) + 1)"
    }
    for ((others, isTime, nulls, joinType, condition) <- cases) ansi(on = false) {
      val values = of(others)
      sides(43, if (isTime) s"timestamp_micros($values)" else values)
      // Stock Spark raises where an interval overflows, and Java has no such timestamps to show.
      val (by, function) =
        if (isTime) "abs(unix_micros(l.t) - unix_micros(r.t))" -> "row_number()"
        else "abs(l.t - r.t)" -> "rank()"
      val query = ranked(by, function, 2, joinType, condition)
      check(query.replace("NULLS LAST", s"NULLS $nulls"))
    }
  }

  test("a NULL first field is less than all values") {
    for (value <- Seq("double($)", "cast($ AS DECIMAL(9, 2))", "$", "timestamp_seconds($)")) {
      sides(33, value)
      for (join <- Seq("LEFT JOIN r ON l.k = r.k", "JOIN r ON l.k = r.k AND r.t IS NOT NULL"))
        check(s"SELECT l.id, min(struct(abs(l.t - r.t), r.id)) FROM l $join GROUP BY l.id")
    }
  }

  test("a NULL of the other side does not put the others out of order") {
    // Days, as clocks change by an hour or two.
    for (value <- Seq("cast($ AS BIGINT)", "timestamp_seconds($ * 86400)", "double($)")) {
      sides(35, value)
      for (form <- Forms; engine <- nextEngine) withConf(engine: _*) {
        val df = spark.sql(form.of(
          "SELECT l.id, min_by(r.id, abs(l.t - r.t)) FROM l JOIN r ON l.k = r.k AND l.t IS NOT NULL GROUP BY l.id"))
        df.collect()
        val pairs = joinOf(df).metrics("numOutputRows").value
        // Two of each row, but where all times of the key are NULL.
        assert(pairs <= 2 * 80 + 160, executedPlan(df))
      }
    }
  }

  test("decimals whose difference is rounded") {
    sides(37, "cast(1 + $ / 100000000D AS DECIMAL(18, 10))")
    def cast(column: String) = s"cast($column AS DECIMAL(38, 10))"
    checkLeft(ranked(s"abs(${cast("l.t")} - ${cast("r.t")})"))
  }

  test("an interval that overflows raises as in stock Spark", Slow) {
    sides(39, "if($ < 40, date_from_unix_date(-200000000), date_from_unix_date($))")
    checkRaises(ranked("abs(l.t - r.t)", "row_number()"))
    sides(41, "timestamp_micros(if($ % 2 = 0, 1, -1) * 9000000000000000000 + $)")
    checkRaises(ranked("abs(l.t - r.t)", "row_number()"))
  }

  private def checkRaises(query: String): Unit = for (form <- Forms) {
    val errors = Seq("false", "true").map { on =>
      withConf(Flag -> on)(arithmeticErrors(intercept[Exception](rows(spark.sql(form.of(query))))))
    }
    assert(errors.head.nonEmpty && errors.distinct.size == 1, query)
  }

  test("an overflow raises as in stock Spark") {
    ansi(on = true) {
      sides(21, "cast($ % 100 AS BIGINT) * 92000000000000000 * if($ % 2 = 0, 1, -1)")
      checkRaises(ranked("abs(l.t - r.t)", "row_number()"))
    }
    ansi(on = false)(check(ranked("abs(l.t - r.t)", "rank()", 2), forms = Forms))
  }

  test("without a key, over a broadcast", Slow) {
    sides(23)
    for (joinType <- Seq("INNER", "LEFT"))
      check(
        ranked("abs(l.t - r.t)", "rank()", 2, joinType, "true"),
        forms = Seq(Form("BROADCAST(r)")))
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10MB")(
      check(ranked("abs(l.t - r.t)", "rank()", 2, "INNER", "true"), forms = Seq(Form(""))))
    withConf("spark.sql.crossJoin.enabled" -> "false") {
      intercept[Exception](rows(spark.sql(ranked("abs(l.t - r.t)", "rank()", 2, "INNER", "true"))))
    }
  }

  testOfCases("NEAREST BY", 3)(for {
    value <- Seq("$", "double($)", "timestamp_seconds($)")
    k <- Seq(1, 3)
    (by, direction) <- Seq("abs(l.t - r.t)" -> "DISTANCE", "-abs(r.t - l.t)" -> "SIMILARITY")
    join <- Seq("JOIN", "LEFT JOIN")
    // Of a negated interval no order is known.
    if !(value.startsWith("timestamp") && direction == "SIMILARITY")
  } yield (value, k, s"$direction $by", join)) { cases =>
    assume(SPARK_VERSION >= "4.2")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10MB") {
      for ((value, k, by, join) <- cases) {
        sides(25, value)
        val distance = by.substring(by.indexOf(' ') + 1)
        val query = s"SELECT l.id, $distance AS d FROM l $join r EXACT NEAREST $k BY $by"
        check(query, forms = Seq(Form("")))
      }
    }
  }

  test("what is left as it is") {
    sides(27)
    spark.sql(
      "SELECT k, min(t) AS t, min(id) AS id FROM r GROUP BY k").createOrReplaceTempView("one")
    val query = ranked("abs(l.t - r.t)", "row_number()")
    // One row a key; the farthest; a distance that may be in the way of another range.
    checkLeft(query.replace("JOIN r", "JOIN one r"))
    checkLeft(ranked("abs(l.t - r.t) DESC"))
    checkLeft(ranked("abs(l.v - 2 * r.v)"))
    withConf("spark.sql.join.bestMatches.enabled" -> "false")(
      checkLeft(query))
  }

  test("the side that is ranked for is broadcast, so that Spark's join stays") {
    sides(31)
    val query = ranked("abs(l.t - r.t)", "row_number()", 1, "INNER")
    for (engine <- nextEngine; hint <- Seq("BROADCAST(l)", "SHUFFLE_HASH(l)")) {
      compare(query, Seq(Form(hint)), Seq(engine)) { df =>
        val join = joinOf(df)
        val reason = join.getTagValue(MarkRangeJoins.ReasonTag)
        !join.isInstanceOf[RangeJoinExec] && reason.contains(Reason.RankedSideBuilt)
      }
    }
  }

  test("a window that spills, and an index without room", Slow) {
    sides(29)
    withConf(Cramped: _*) {
      check(ranked("abs(l.t - r.t)", limit = 2), forms = Forms.take(2))
    }
  }
}

object OpenRangeSuite {

  private val Berlin = "Europe/Berlin"

  /** Values, the time zone, and distances between them. */
  private val Types = Seq(
    ("cast($ AS SMALLINT)", Berlin, Seq("abs(l.t - r.t)")),
    (
      "cast($ AS BIGINT)",
      "UTC",
      Seq("abs(l.t - r.t)", "abs(cast(l.t AS DECIMAL(20, 0)) - cast(r.t AS DECIMAL(20, 0)))")),
    ("cast($ AS DECIMAL(10, 2))", Berlin, Seq("abs(r.t - l.t)")),
    ("double($) / 7", "UTC", Seq("abs(l.t - r.t)")),
    ("cast($ AS FLOAT) / 7", Berlin, Seq("abs(r.t - l.t)")),
    ("date_add(DATE '2024-01-01', $)", "UTC", Seq("abs(datediff(l.t, r.t))", "abs(l.t - r.t)")),
    (
      "timestamp_seconds($ * 60)",
      Berlin,
      Seq("abs(l.t - r.t)", "abs(unix_micros(l.t) - unix_micros(r.t))")),
    // The night that clocks go back in Berlin.
    ("timestamp_seconds(1729983600 + $ * 120)", Berlin, Seq("abs(r.t - l.t)")),
    (
      "TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, $)",
      Berlin,
      Seq("abs(l.t - r.t)"))
  )
}
