// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.explain.JoinReports

import org.scalatest.tagobjects.Slow

/** Functions of several windows of the matches of each row are made in the join, from no pairs. */
class WindowedFunctionsSuite extends WindowQueries {

  private def query(
      functions: String,
      joinType: String = "JOIN",
      range: String = "r.t BETWEEN l.t - 30 AND l.t",
      by: String = "l.id"): String =
    s"SELECT /*+ HINT */ $by, $functions FROM l $joinType r ON l.k = r.k AND $range GROUP BY $by"

  private val Windowed = Seq(
    "sum(CASE WHEN r.t >= l.t - 3 THEN r.x END)",
    "count(*) FILTER (WHERE r.t >= l.t - 7)",
    "max(IF(r.t > l.t - 7, r.x, NULL))",
    "avg(CASE WHEN r.t BETWEEN l.t - 20 AND l.t - 10 THEN r.m END)",
    "count_if(r.t < l.t - 5)",
    "count(CASE WHEN r.t = l.t THEN 1 END)"
  )

  test("functions of several windows, by CASE, IF, FILTER and count_if, beside others") {
    sides()
    for (joinType <- Seq("JOIN", "LEFT JOIN"))
      check(query(("sum(r.x), count(*), max(l.t)" +: Windowed).mkString(", "), joinType))
    for (function <- Windowed) check(query(function), hints = oneIn(3)(Hints))
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
    for (joinType <- Seq("JOIN", "LEFT JOIN")) check(query(functions.mkString(", "), joinType))
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
    for (joinType <- Seq("JOIN", "LEFT JOIN")) check(query(functions.mkString(", "), joinType))
  }

  test("all earlier rows, and several groups", Slow) {
    sides()
    for (by <- Seq("l.id", "l.k", "l.v"))
      check(query(Windowed.mkString(", "), range = "r.t <= l.t", by = by))
    check(query(Windowed.mkString(", "), range = "r.t < l.t + 5 AND r.t > l.t - 40"))
  }

  test("a window on disk, and one of a row", Slow) {
    sides(left = 300, right = 3000)
    for (limit <- Seq(1, 7))
      check(
        query(Windowed.mkString(", ")),
        hints = Seq("MERGE(r)"),
        settings = RangeJoinTest.spillingFrom(limit))
  }

  test("without a key, by a broadcast and by buckets") {
    sides()
    val functions = Windowed.map(_.replace("l.k = r.k AND", "")).mkString(", ")
    val ofAll = query(functions).replace("l.k = r.k AND", "")
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
      "sum(CASE WHEN r.x >= l.v THEN r.x END)", // another column
      "sum(CASE WHEN r.t >= l.t - 3 THEN l.v + r.x END)", // a value of both sides
      "sum(CASE WHEN r.t >= l.t - 3 THEN r.x ELSE r.t END)",
      "max_by(r.x, IF(r.t >= l.t - 3, r.t, NULL))",
      "sum(CASE WHEN r.t >= l.t - 3 THEN 1 WHEN r.t >= l.t - 7 THEN 2 END)",
      "count(*) FILTER (WHERE r.t >= l.t - 3 OR r.x > l.v)"
    )
    for (function <- others)
      check(query(s"$function, count(*)"), isInJoin = Some(false), hints = oneIn(3)(Hints))
    check(query(Windowed.head, range = "r.x >= l.t - 30"), isInJoin = Some(false))
    val df = spark.sql(query(others.head))
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
        query("sum(IF(r.t >= l.t - 3, r.x, 0)), count(*)", "LEFT JOIN", "r.t <= l.t"),
        hasPairs = None))
    val beyond = query("sum(IF(r.t >= l.t + 3, r.x, 0))", range = "r.t <= l.t")
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
        query(function, range = "r.t <= l.t"),
        isInJoin = Some(condition.contains("/ r.x")),
        hasPairs = None)
      // Stock Spark asks it of each match.
      val first =
        query("sum(CASE WHEN 10 / r.x > 1 AND r.t >= l.t - 3 THEN r.x END)", range = "r.t <= l.t")
      val stock = withConf(RangeJoinTest.Oracle: _*)(outcome(spark.sql(first)))
      assert(stock.isLeft && outcome(spark.sql(first.replace("HINT", "MERGE(r)"))) == stock)
    }
  }

  test("random windows give what stock Spark gives")(checkRandom(20261130, 10))

  test("so do more of them", Slow)(checkRandom(20261130 + 1, 30))

  private def checkRandom(seed: Long, cases: Int): Unit =
    checkRandom(
      seed,
      cases,
      rightRows = Seq(20, 400),
      conditions = Seq(
        "r.t BETWEEN l.t - 30 AND l.t",
        "r.t <= l.t",
        "r.t < l.t AND r.t >= l.t - 200",
        "l.t + 4 > r.t"),
      groups = Seq("l.id", "l.k", "l.id, l.v")
    )(query)
}
