// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.best.TiedTables
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.{Pairwise, RangeJoinTest}

import org.scalatest.tagobjects.Slow

/**
 * Functions of several windows of the matches of each row are made in the join, from no pairs: of a join on keys and a
 * range, and of one on keys alone. Queries have a place for a hint, `HINT`.
 */
class WindowedFunctionsSuite extends TiedTables {
  import WindowedFunctionsSuite._

  private val Hints = Seq("MERGE(r)", "SHUFFLE_HASH(r)", "BROADCAST(r)")

  /** Keys and times with ties on both sides, some NULL, and more than one block of rows a key. */
  private def sides(left: Int = 120, right: Int = 400): Unit = {
    tiedTables(left, right)(
      "CASE WHEN id % 11 = 4 THEN NULL ELSE pmod(hash(id), 100) END AS x",
      "CAST(pmod(hash(id, 2), 1000) AS DECIMAL(9, 2)) AS m")
    spark.table("l").selectExpr("*", "IF(v = 2, NULL, v * 9) AS w").createOrReplaceTempView("l")
  }

  /**
   * Compares with stock Spark.
   *
   * @param isInJoin whether the matches are aggregated in the join; None where a broadcast may turn out to be small
   * @param hasPairs whether pairs were visited one by one; None where either is right
   */
  private def checkFrame(
      hinted: String => DataFrame,
      name: String,
      isInJoin: Option[Boolean] = Some(true),
      hasPairs: Option[Boolean] = Some(false),
      hints: Seq[String] = oneIn(3)(Hints),
      settings: Settings = Nil): Unit = {
    val expected = rowsOfStock(hinted("MERGE(r)"))
    assert(expected.nonEmpty)
    for (hint <- hints; engine <- nextEngine)
      withConf((engine ++ settings :+ (InternalConf.LinearScanThreshold.key -> "0")): _*) {
        val df = hinted(hint)
        def clue = s"$name\nby $hint under $engine\n${executedPlan(df)}"
        assertSameRows(rows(df), expected, clue)
        val matches = nodes[AggregateMatchesExec](df)
        for (isThere <- isInJoin) assert(matches.nonEmpty == isThere, clue)
        for (aggregate <- matches; expected <- hasPairs)
          assert((aggregate.metrics("numPairs").value > 0) == expected, clue)
      }
  }

  /** The same of a query with `HINT` in it. */
  private def check(
      query: String,
      isInJoin: Option[Boolean] = Some(true),
      hasPairs: Option[Boolean] = Some(false),
      hints: Seq[String] = oneIn(3)(Hints),
      settings: Settings = Nil): Unit =
    checkFrame(
      (hint: String) => spark.sql(query.replace("HINT", hint)),
      query,
      isInJoin,
      hasPairs,
      hints,
      settings)

  /** Compares rows alone. */
  private def checkRows(query: String, hints: Seq[String]): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    for (hint <- hints; engine <- nextEngine) withConf(engine: _*) {
      val df = spark.sql(query.replace("HINT", hint))
      assertSameRows(rows(df), expected, s"$query\nby $hint under $engine\n${executedPlan(df)}")
    }
  }

  /** Checks that a query raises an error, and the one that stock Spark raises. */
  private def raisesAsStock(query: String): Unit = {
    val stock = withConf(RangeJoinTest.Oracle: _*)(outcome(spark.sql(query)))
    assert(stock.isLeft, query)
    for (hint <- oneIn(3)(Hints); engine <- nextEngine) withConf(engine: _*) {
      assert(outcome(spark.sql(query.replace("HINT", hint))) == stock, query)
    }
  }

  private def query(
      functions: String,
      joinType: String = "JOIN",
      on: String = Keys,
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

  for ((name, on) <- Seq("of keys" -> Keys, "of keys and a range" -> Within))
    test(s"windows by CASE, IF, FILTER and count_if, beside others, above a join $name") {
      sides()
      for (joinType <- Seq("JOIN", "LEFT JOIN"))
        check(query((OfSides ++ Windowed).mkString(", "), joinType, on))
      for (function <- oneIn(2)(Windowed)) check(query(function, on = on))
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
    for ((by, i) <- Seq("l.k", "l.v", "l.w, l.v", "l.id % 3", "").zipWithIndex)
      check(query(functions, if (i % 2 == 0) "JOIN" else "LEFT JOIN", by = by))
    for (by <- Seq("l.k", "l.v")) check(query(functions, on = s"$Keys AND r.t <= l.t", by = by))
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
    val cases = for {
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
    } yield (joinType, function, by)
    for ((joinType, function, by) <- Pairwise.of(cases))
      check(query(function, joinType, by = by), isInJoin = None, hasPairs = None)
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
      for ((function, i) <- functions.zipWithIndex)
        check(query(function, if (i % 2 == 0) "JOIN" else "LEFT JOIN"), hasPairs = None)
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
        hasPairs = None)
    }
  }

  test("a range of the join with one end") {
    sides()
    for ((joinType, end) <-
        Seq("JOIN" -> "r.t >= l.t - 30", "LEFT JOIN" -> "r.t > l.t", "LEFT JOIN" -> "r.t <= l.t"))
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
      check(query, isInJoin = Some(false))
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
      for ((joinType, by) <- Seq("JOIN" -> "l.id", "LEFT JOIN" -> ""))
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

  test("what matches outside of a window give") {
    sides()
    val functions = Seq(
      "sum(CASE WHEN r.t >= l.t - 3 THEN r.x ELSE 0 END)",
      "avg(IF(r.t >= l.t - 7, r.x, 0))",
      "max(IF(r.t >= l.t - 7, r.x, l.v))",
      "count(CASE WHEN r.t > l.t - 4 THEN r.x ELSE 1 END)",
      "sum(CASE WHEN r.t > l.t - 4 THEN r.m ELSE CAST(0 AS DECIMAL(9, 2)) END)",
      "sum(IF(r.t < l.t - 90, r.x, 0))"
    )
    for (joinType <- Seq("JOIN", "LEFT JOIN"))
      check(query(functions.mkString(", "), joinType, Within))
  }

  test("further conditions of either side, and ends that are NULL") {
    sides()
    val functions = Seq(
      "sum(r.x) FILTER (WHERE r.t >= l.t - 9 AND r.x > 20)",
      "count(CASE WHEN r.t >= l.t - 9 AND r.x % 2 = 0 THEN 1 END)",
      "sum(CASE WHEN l.v > 1 AND r.t >= l.t - 9 THEN r.x ELSE 0 END)",
      "count(*) FILTER (WHERE r.t >= l.t - l.w)",
      "sum(IF(r.t >= l.t - l.w, r.x, -1))",
      "sum(r.x) FILTER (WHERE r.t BETWEEN l.t - 60 AND l.t + 9)"
    )
    for (joinType <- Seq("JOIN", "LEFT JOIN"))
      check(query(functions.mkString(", "), joinType, Within))
  }

  test("a window on disk", Slow) {
    sides(left = 300, right = 3000)
    for ((limit, on) <- Seq(1 -> Keys, 7 -> Keys, 1 -> Within))
      check(
        query(Windowed.mkString(", "), on = on),
        hints = Seq("MERGE(r)"),
        settings = RangeJoinTest.spillingFrom(limit))
  }

  test("without a key, by a broadcast and by buckets") {
    sides()
    val ofAll = query(Windowed.mkString(", "), on = Within.replace(s"$Keys AND ", ""))
    check(ofAll, hints = Seq("BROADCAST(r)"))
    check(
      ofAll.replace("/*+ HINT */", ""),
      hints = Seq(""),
      hasPairs = None,
      settings = Seq(
        "spark.sql.autoBroadcastJoinThreshold" -> "-1",
        InternalConf.RangePartitioningBuckets.key -> "5")
    )
  }

  test("functions that are of no window of the range are made of pairs") {
    sides()
    val others = Seq(
      "sum(CASE WHEN r.t >= l.t - 3 THEN l.v + r.x END)", // a value of both sides
      "sum(CASE WHEN r.x >= l.v THEN r.x END)", // another column
      "sum(CASE WHEN r.t >= l.t - 3 THEN r.x ELSE r.t END)",
      "max_by(r.x, IF(r.t >= l.t - 3, r.t, NULL))"
    )
    for (function <- others)
      check(query(s"$function, count(*)", on = Within), isInJoin = Some(false))
    check(query(Windowed.head, on = s"$Keys AND r.x >= l.t - 30"), isInJoin = Some(false))
    val df = spark.sql(query(others.head, on = Within))
    assert(JoinReports.json(executedPlan(df)).contains("reads columns of both sides"))
  }

  test("an end that cannot be computed is one of the pairs, as with stock Spark") {
    spark.sql("SELECT id, 1 AS k, " +
      "CAST(CASE id WHEN 3 THEN -2147483648 WHEN 4 THEN 2147483647 ELSE id * 10 END AS INT) AS t FROM range(6)")
      .createOrReplaceTempView("l")
    spark.sql("SELECT 1 AS k, CAST(id AS INT) AS t, id AS x FROM range(60)")
      .createOrReplaceTempView("r")
    // Of the least time there is no match, and so no error.
    for (on <- Seq(true, false))
      ansi(on)(check(
        query("sum(IF(r.t >= l.t - 3, r.x, 0)), count(*)", "LEFT JOIN", UpTo),
        hasPairs = None))
    val beyond = query("sum(IF(r.t >= l.t + 3, r.x, 0))", on = UpTo)
    ansi(on = false)(check(beyond, hasPairs = None))
    ansi(on = true)(raisesAsStock(beyond))
  }

  test("what would raise for a row without matches in the window is asked of pairs") {
    spark.sql("SELECT * FROM VALUES (1, 1, 10, 0), (2, 1, 10, 1), (3, 99, 10, 0) AS l(id, k, t, v)")
      .createOrReplaceTempView("l")
    spark.sql("SELECT * FROM VALUES (1, 5, 3), (1, 4, 0), (2, 9, 0), (99, 20, 5) AS r(k, t, x)")
      .createOrReplaceTempView("r")
    ansi(on = true) {
      for {
        condition <- Seq(
          "r.t >= l.t - 3 AND 10 / l.v > 1",
          "r.t >= l.t - 3 AND 10 / r.x > 1",
          "r.x > 5 AND 10 / l.v > 1 AND r.t >= l.t - 3")
        function <-
          Seq(s"sum(CASE WHEN $condition THEN r.x END)", s"count(*) FILTER (WHERE $condition)")
      } check(
        query(function, on = UpTo),
        isInJoin = Some(condition.contains("/ r.x")),
        hasPairs = None)
      // Stock Spark asks it of each match.
      val first =
        query("sum(CASE WHEN 10 / r.x > 1 AND r.t >= l.t - 3 THEN r.x END)", on = UpTo)
      val stock = withConf(RangeJoinTest.Oracle: _*)(outcome(spark.sql(first)))
      assert(stock.isLeft && outcome(spark.sql(first.replace("HINT", "MERGE(r)"))) == stock)
    }
  }

  test("random windows give what stock Spark gives")(checkRandom(20261201, 6))

  test("so do more of them", Slow)(checkRandom(20261201 + 1, 30))

  /** Compares random functions of random windows with stock Spark. */
  private def checkRandom(seed: Long, cases: Int): Unit = {
    val random = new Random(seed)
    def among[T](values: Seq[T]): T = values(random.nextInt(values.size))
    def one[T](values: T*): T = among(values)
    def end = s"l.t${one("", " - 1", " - 5", " - 17", " - l.w", " + 3", " - 400", " + 400")}"
    def window = one(
      s"r.t >= $end",
      s"r.t > $end",
      s"r.t <= $end",
      s"$end > r.t",
      s"r.t BETWEEN $end AND $end",
      s"r.t >= $end AND r.t < $end",
      s"r.t = $end") + one("", "", " AND r.x > 30", " AND l.v > 0")
    def function = {
      val (value, w) = (one("r.x", "r.m", "1", "r.t"), window)
      one(
        s"sum(CASE WHEN $w THEN $value END)",
        s"count(*) FILTER (WHERE $w)",
        s"min($value) FILTER (WHERE $w)",
        s"max(IF($w, $value, NULL))",
        s"sum(IF($w, $value, 0))",
        s"avg(IF($w, r.x, l.v))",
        s"count_if($w)",
        "sum(r.x)",
        "count(*)",
        "max(l.v)",
        "count(r.t)"
      )
    }
    for (_ <- 0 until cases) {
      sides(left = 1 + random.nextInt(60), right = 1 + random.nextInt(among(Seq(5, 20, 400))))
      val functions = Seq.fill(1 + random.nextInt(6))(function).mkString(", ")
      val sql = query(
        functions,
        one("JOIN", "LEFT JOIN"),
        among(Conditions),
        among(Seq("l.id", "l.k", "l.id, l.v", "l.w", "")))
      checkRows(sql, oneIn(3)(Hints))
    }
  }
}

object WindowedFunctionsSuite {
  private val Keys = "l.k = r.k"
  private val Within = s"$Keys AND r.t BETWEEN l.t - 30 AND l.t"
  private val UpTo = s"$Keys AND r.t <= l.t"

  private val Conditions = Seq(
    Keys,
    "l.k <=> r.k",
    s"$Keys AND r.t >= l.t - 9",
    Within,
    UpTo,
    s"$Keys AND r.t < l.t AND r.t >= l.t - 200",
    s"$Keys AND l.t + 4 > r.t")
}
