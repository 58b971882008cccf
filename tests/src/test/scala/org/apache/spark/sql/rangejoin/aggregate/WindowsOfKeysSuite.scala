// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.functions._
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

import org.scalatest.tagobjects.Slow

/** Joins on keys alone below functions of windows are made from no pairs. */
class WindowsOfKeysSuite extends WindowQueries {

  private def query(
      functions: String,
      joinType: String = "JOIN",
      on: String = "l.k = r.k",
      by: String = "l.id"): String = {
    val (columns, grouped) = if (by.isEmpty) ("", "") else (s"$by, ", s" GROUP BY $by")
    s"SELECT /*+ HINT */ $columns$functions FROM l $joinType r ON $on$grouped"
  }

  /** Windows of the other side's time, as they are written. */
  private val Windowed = Seq(
    "sum(CASE WHEN r.t >= l.t AND r.t < l.t + 30 THEN r.x ELSE 0 END)",
    "sum(CASE WHEN r.t >= l.t - 30 AND r.t < l.t THEN r.x ELSE 0 END)",
    "sum(CASE WHEN r.t BETWEEN l.t - 3 AND l.t THEN r.x END)",
    "count(*) FILTER (WHERE l.t - 7 <= r.t AND r.t < l.t)",
    "max(IF(r.t > l.t - 7, r.x, NULL))",
    "avg(CASE WHEN r.t BETWEEN l.t - 20 AND l.t - 10 THEN r.m END)",
    "count_if(r.t < l.t - 5)",
    "count(CASE WHEN r.t = l.t THEN 1 END)",
    "sum(CASE WHEN l.t + 5 >= r.t THEN r.m ELSE CAST(0 AS DECIMAL(9, 2)) END)"
  )

  private val OfSides = Seq("sum(r.x)", "count(*)", "max(l.v)", "count(r.t)", "min(r.m)")

  test("windows in the functions alone, by CASE, IF, FILTER and count_if, beside others") {
    sides()
    for (joinType <- Seq("JOIN", "LEFT JOIN"))
      check(query((OfSides ++ Windowed).mkString(", "), joinType))
    for (function <- Windowed) check(query(function), hints = oneIn(3)(Hints))
  }

  test("a right outer join, several keys, one that may be NULL, and conditions of the other side") {
    sides()
    val functions = Windowed.mkString(", ")
    check(s"SELECT /*+ HINT */ l.id, $functions FROM r RIGHT JOIN l ON l.k = r.k GROUP BY l.id")
    check(query(functions, on = "l.k = r.k AND l.v = r.id % 5"), hasPairs = None)
    check(query(functions, on = "l.k <=> r.k"))
    check(query(functions, "LEFT JOIN", on = "l.k = r.k AND r.x > 40"), hasPairs = None)
    check(query(functions, on = "l.k = r.k AND l.v > 1 AND r.x > 40"), hasPairs = None)
  }

  test("groups of several rows, of an expression, of some rows, and none at all") {
    sides()
    val functions = (OfSides ++ Windowed.take(3)).mkString(", ")
    for {
      joinType <- Seq("JOIN", "LEFT JOIN")
      by <- Seq("l.k", "l.v", "l.w, l.v", "l.id % 3", "")
    } check(query(functions, joinType, by = by), hints = oneIn(2)(Hints))
    check(query(functions, by = "") + " WHERE l.id < 0", hasPairs = None)
    check(query(functions, by = "l.v") + " HAVING count(*) > 3")
  }

  test(
    "rows without a time, or without rows in any window, make groups as they do in stock Spark") {
    spark.sql("SELECT * FROM VALUES (1, 1, 10), (2, 1, NULL), (3, 2, 10), (4, 3, 10), (5, 4, 10) " +
      "AS l(id, k, t)").createOrReplaceTempView("l")
    spark.sql(
      "SELECT * FROM VALUES (1, NULL, 1), (1, 10, 2), (1, 11, 4), (2, NULL, 8), (3, 99, 16) " +
        "AS r(k, t, x)").createOrReplaceTempView("r")
    for {
      joinType <- Seq("JOIN", "LEFT JOIN")
      function <- Seq(
        "sum(CASE WHEN r.t >= l.t THEN r.x ELSE 0 END)",
        "sum(CASE WHEN r.t >= l.t THEN r.x END)",
        "sum(CASE WHEN r.t <= l.t THEN r.x ELSE -1 END)",
        "count(CASE WHEN r.t <= l.t THEN r.x ELSE 1 END)",
        "avg(CASE WHEN r.t BETWEEN l.t AND l.t THEN r.x ELSE 0 END)",
        "sum(r.x) FILTER (WHERE r.t >= l.t)"
      )
      by <- Seq("l.id", "")
    } check(
      query(function, joinType, by = by),
      isInJoin = None,
      hasPairs = None,
      hints = oneIn(3)(Hints))
  }

  test("ends of a type, and values at them") {
    val ends = Seq("9223372036854775807", "9223372036854775806", "9223372036854775805")
    val values = ends ++ ends.map("-" + _) ++ Seq("-9223372036854775807 - 1", "NULL", "0", "5")
    def table(name: String, times: Int) =
      spark.sql((0 until times).map(i =>
        s"($i, ${i % 2}, ${values(i % values.size)}L)".replace("NULLL", "CAST(NULL AS BIGINT)"))
        .mkString("SELECT * FROM VALUES ", ", ", s" AS $name(id, k, t)"))
        .createOrReplaceTempView(name)
    table("l", 40)
    table("r", 90)
    val functions = Seq(
      "sum(CASE WHEN r.t >= l.t THEN r.id ELSE 0 END)",
      "sum(CASE WHEN r.t > l.t THEN r.id ELSE 0 END)",
      "count(*) FILTER (WHERE r.t <= l.t)",
      "count(*) FILTER (WHERE r.t < l.t)",
      "count_if(r.t = l.t)",
      "sum(IF(r.t BETWEEN l.t AND 0 - l.t, r.id, 0))"
    )
    ansi(on = false) {
      for (joinType <- Seq("JOIN", "LEFT JOIN"); function <- functions)
        check(query(function, joinType), hasPairs = None, hints = oneIn(2)(Hints))
      check(query(functions.mkString(", ")), hasPairs = None)
    }
  }

  test("times of other types") {
    sides()
    val zero = "TIMESTAMP'2026-01-01 00:00:00'"
    for {
      (time, step) <- Seq(
        s"CAST($zero + make_dt_interval(0, 0, CAST(t AS INT)) AS TIMESTAMP)" -> "INTERVAL '7' MINUTE",
        "date_add(DATE'2026-01-01', CAST(t AS INT))" -> "7",
        "CAST(t AS DECIMAL(12, 3))" -> "7.5",
        "IF(t = 50, CAST('NaN' AS DOUBLE), CAST(t AS DOUBLE))" -> "7.5D",
        "CAST(t AS FLOAT)" -> "7",
        "CAST(t AS SMALLINT)" -> "7S"
      )
    } {
      for (side <- Seq("l", "r"))
        spark.table(side).selectExpr("*", s"$time AS u").createOrReplaceTempView(s"${side}u")
      val functions = Seq(
        s"sum(CASE WHEN r.u >= l.u - $step THEN r.x ELSE 0 END)",
        s"count(*) FILTER (WHERE r.u BETWEEN l.u - $step AND l.u)")
      check(
        query(functions.mkString(", ")).replace("FROM l JOIN r", "FROM lu AS l JOIN ru AS r"),
        hasPairs = None,
        hints = oneIn(2)(Hints))
    }
  }

  test("a range of the join with no later end") {
    sides()
    for (joinType <- Seq("JOIN", "LEFT JOIN"); end <- Seq("r.t >= l.t - 30", "r.t > l.t"))
      check(query((OfSides ++ Windowed).mkString(", "), joinType, s"l.k = r.k AND $end"))
  }

  test("subqueries, DataFrames, and columns of expressions") {
    sides()
    check(
      s"SELECT id, sum(x) FILTER (WHERE near), sum(IF(before, x, 0)) FROM (SELECT /*+ HINT */ l.id, r.x, " +
        "r.t BETWEEN l.t - 3 AND l.t + 3 AS near, r.t < l.t AS before FROM l JOIN r ON l.k = r.k) GROUP BY id")
    check(
      "WITH p AS (SELECT /*+ HINT */ l.id, r.x, r.t, l.t AS at FROM l JOIN r ON l.k = r.k) " +
        "SELECT id, sum(CASE WHEN t BETWEEN at - 3 AND at THEN x ELSE 0 END) AS s FROM p GROUP BY id ORDER BY s, id")
    def frame(hint: String) = {
      val (l, r) = (spark.table("l").as("l"), spark.table("r").as("r"))
      l.join(r.hint(hint.takeWhile(_ != '(')), col("l.k") === col("r.k"))
        .groupBy(col("l.id"))
        .agg(
          sum(when(col("r.t").between(col("l.t") - 3, col("l.t")), col("r.x")).otherwise(0)),
          count(when(col("l.t") > col("r.t"), lit(1))))
    }
    checkFrame(frame, "a DataFrame")
  }

  test("what needs pairs is left to Spark") {
    sides(left = 40, right = 100)
    val others = Seq(
      "sum(CASE WHEN r.x >= l.v THEN r.x END), sum(CASE WHEN r.t >= l.t THEN r.x END)", // two columns
      "sum(CASE WHEN r.t >= l.t - 3 THEN l.v + r.x END)",
      "sum(CASE WHEN r.t >= l.t - 3 THEN 1 WHEN r.t >= l.t - 7 THEN 2 END)",
      "count(*) FILTER (WHERE r.t >= l.t - 3 OR r.x > l.v)",
      "sum(CASE WHEN r.t >= l.t - 3 THEN r.x END), count(DISTINCT r.x)",
      "sum(CASE WHEN r.t >= l.t - 3 THEN r.x END), sum(l.v * r.x)",
      "sum(CASE WHEN r.s >= repeat('x', CAST(l.v AS INT)) THEN r.x END)" // bounds are prefixes
    )
    def left(query: String) = {
      check(query, isInJoin = Some(false), hints = oneIn(3)(Hints))
      assert(plannedJoins(spark.sql(query.replace("HINT", "MERGE(r)"))) == 0)
    }
    others.foreach(function => left(query(function)))
    left(query(Windowed.head, "FULL JOIN"))
    left(query(Windowed.head, "RIGHT JOIN"))
    left(query(Windowed.head, by = "l.id, r.id"))
    left(query(Windowed.head, by = "l.v, l.w") + " WITH ROLLUP")
    left(query(Windowed.head, on = "l.k = r.k AND l.v <> r.x"))
    left(query(Windowed.head, "LEFT JOIN", on = "l.k = r.k AND l.v > 1"))
    // A row has one match at most.
    spark.sql("SELECT k, max(t) AS t, max(x) AS x FROM r GROUP BY k").createOrReplaceTempView("r")
    left(query(Windowed.head))
  }

  test("the settings of aggregated matches and of range joins switch it off") {
    sides()
    for (setting <- Seq(RangeJoinConf.AggregatedMatches, RangeJoinConf.Enabled))
      withConf(setting.key -> "false") {
        val df = spark.sql(query(Windowed.head))
        assert(nodes[AggregateMatchesExec](df).isEmpty && plannedJoins(df) == 0)
      }
  }

  test("a broadcast of the side that is grouped by is Spark's join") {
    sides()
    check(query(Windowed.mkString(", ")), isInJoin = Some(false), hints = Seq("BROADCAST(l)"))
    check(query(Windowed.mkString(", "), "LEFT JOIN"), hints = Seq("BROADCAST(r)"))
  }

  test("empty sides") {
    for ((left, right) <- Seq(0 -> 50, 50 -> 0, 0 -> 0)) {
      sides(left, right)
      for (joinType <- Seq("JOIN", "LEFT JOIN"); by <- Seq("l.id", ""))
        checkRows(query(Windowed.take(3).mkString(", "), joinType, by = by), oneIn(3)(Hints))
    }
  }

  test("what raises an error for a pair raises where that pair is asked") {
    spark.sql("SELECT * FROM VALUES (1, 1, 10, 0), (2, 1, 10, 1) AS l(id, k, t, v)")
      .createOrReplaceTempView("l")
    spark.sql("SELECT * FROM VALUES (1, 5, 0), (1, 9, 2), (1, 50, 0) AS r(k, t, x)")
      .createOrReplaceTempView("r")
    ansi(on = true) {
      // Outside of the window the value is not computed, and in it the divisor is not 0.
      for (joinType <- Seq("JOIN", "LEFT JOIN"))
        check(
          query("sum(CASE WHEN r.t BETWEEN l.t - 3 AND l.t THEN 10 / r.x END)", joinType),
          isInJoin = None,
          hasPairs = None)
      for (function <- Seq(
          "sum(CASE WHEN r.t BETWEEN l.t - 7 AND l.t THEN 10 / r.x END)",
          "sum(CASE WHEN r.t < l.t THEN r.x ELSE 10 / l.v END)",
          "sum(CASE WHEN r.t >= l.t + 2147483647 THEN r.x ELSE 0 END)"
        )) raisesAsStock(query(function))
    }
  }

  test("an error behind a NULL raises: stock Spark goes on with AND") {
    spark.sql("SELECT * FROM VALUES (1, 1, 9223372036854775807L, CAST(NULL AS BIGINT), false), " +
      "(2, 9, 1L, 1L, true) AS l(id, k, t, a, g)").createOrReplaceTempView("l")
    spark.sql(
      "SELECT * FROM VALUES (1, 5L, 3L, 0), (1, 7L, 4L, 1), (1, NULL, 4L, 0) AS r(k, t, x, z)")
      .createOrReplaceTempView("r")
    ansi(on = true) {
      for (function <- Seq(
          "sum(CASE WHEN r.t >= l.a AND r.t < l.t + 3 THEN r.x ELSE 0 END)",
          "sum(CASE WHEN r.t < l.t + 3 AND r.t >= l.a THEN r.x ELSE 0 END)",
          "sum(CASE WHEN r.t < l.t + 3 AND l.g THEN r.x ELSE 0 END)",
          "sum(CASE WHEN l.a > 0 AND r.t < l.t + 3 THEN r.x ELSE 0 END)",
          "sum(CASE WHEN r.t >= l.a AND 1 / r.z > 0 THEN 1 END)",
          "sum(CASE WHEN r.t >= l.t AND 1 / r.z > 0 THEN 1 END)",
          "sum(CASE WHEN r.t <= l.t AND 1 / r.z > 0 AND l.g THEN 1 END)"
        )) raisesAsStock(query(function))
    }
  }

  test("a window on disk", Slow) {
    sides(left = 300, right = 3000)
    for (limit <- Seq(1, 7))
      check(
        query(Windowed.mkString(", ")),
        hints = Seq("MERGE(r)"),
        settings = RangeJoinTest.spillingFrom(limit))
  }

  test("random windows give what stock Spark gives")(checkRandom(20261201, 10))

  test("so do more of them", Slow)(checkRandom(20261201 + 1, 30))

  private def checkRandom(seed: Long, cases: Int): Unit =
    checkRandom(
      seed,
      cases,
      rightRows = Seq(5, 20, 400),
      conditions = Seq("l.k = r.k", "l.k = r.k", "l.k <=> r.k", "l.k = r.k AND r.t >= l.t - 9"),
      groups = Seq("l.id", "l.k", "l.id, l.v", "l.w", "")
    )(query)
}
