// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.util.Random

import org.apache.spark.sql.catalyst.plans.logical.Window
import org.apache.spark.sql.expressions.{Window => Over}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

import org.scalatest.tagobjects.Slow

/**
 * Point-in-time queries in the form in which feature stores and other generators of SQL write them, in words of our own. A
 * spine of drivers and times, and tables of what is known of drivers, each since a time.
 */
class GeneratedQueriesSuite extends RangeJoinTest {

  /** Ties, NULLs, rows that are known twice, and drivers of whom nothing is known. */
  private def tables(spine: Int = 80, events: Int = 240, seed: Int = 1): Unit = {
    def time(column: String) = s"TIMESTAMP'2026-03-01' + make_interval(0, 0, 0, 0, 0, $column)"
    spark.range(spine).selectExpr(
      s"IF(pmod(hash(id, $seed), 13) = 5, NULL, pmod(hash(id, 2, $seed), 7)) AS driver",
      s"IF(pmod(hash(id, $seed), 17) = 3, NULL, ${time(s"pmod(hash(id, 3, $seed), 60)")}) AS at",
      "id % 3 AS label"
    ).createOrReplaceTempView("spine")
    for (name <- Seq("trips", "ratings")) spark.range(events).selectExpr(
      s"IF(pmod(hash(id, '$name', $seed), 19) = 2, NULL, pmod(hash(id, 4, $seed), 6)) AS driver",
      s"IF(pmod(hash(id, '$name', $seed), 23) = 7, NULL, ${time(s"pmod(hash(id, 5, $seed), 70)")}) AS since",
      s"IF(pmod(hash(id, 6, $seed), 5) = 1, NULL, ${time(s"pmod(hash(id, 7, $seed), 3)")}) AS written",
      s"IF(id % 11 = 4, NULL, pmod(hash(id, '$name'), 50)) AS value"
    ).createOrReplaceTempView(name)
  }

  /**
   * Compares with stock Spark.
   *
   * @param ranked how many range joins give the best matches alone
   * @param pairs how many give pairs
   */
  private def check(
      query: String,
      ranked: Int,
      pairs: Int = 0,
      aggregated: Int = 0,
      settings: Settings = Nil): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- nextEngine) withConf(engine ++ settings: _*) {
      val df = spark.sql(query)
      def clue = s"$query\nunder $engine\n${executedPlan(df)}"
      assertSameRows(rows(df), expected, clue)
      val joins = collect(executedPlan(df)) { case join: RangeJoinExec => join }
      val inAggregates = nodes[AggregateMatchesExec](df).flatMap(_.join)
      assert(joins.count(_.best.isDefined) == ranked, clue)
      assert(inAggregates.size == aggregated, clue)
      assert(joins.size - ranked - aggregated == pairs, clue)
    }
  }

  // ---------------------------------------------------------------- Feast

  /** The view of one table in Feast's SQL for Spark: every earlier row, and those of them that are the latest. */
  private def feastView(name: String, ttl: Option[Int], written: Boolean): String = {
    val created = if (written) ", written" else ""
    val upTo = ttl.fold("")(hours => s"AND e.since >= s.at - $hours * INTERVAL '1' HOUR")
    val once = s"""once AS (
      SELECT row_id, since, max(written) AS written FROM base GROUP BY row_id, since),"""
    s"""
      WITH keys AS (SELECT driver, at, row_id FROM entities GROUP BY driver, at, row_id),
      events AS (
        SELECT since$created, driver AS driver, value AS ${name}_value FROM $name
        WHERE since <= TIMESTAMP'2026-03-04'),
      base AS (
        SELECT e.*, s.at, s.row_id FROM events AS e INNER JOIN keys AS s
        ON TRUE AND e.since <= s.at $upTo AND e.driver = s.driver),
      ${if (written) once else ""}
      latest AS (
        SELECT since$created, row_id FROM (
          SELECT *, row_number() OVER (
            PARTITION BY row_id ORDER BY since DESC${if (written) ", written DESC"
      else ""}) AS number
          FROM base ${if (written) "INNER JOIN once USING (row_id, since, written)" else ""})
        WHERE number = 1)
      SELECT base.* FROM base INNER JOIN latest USING (row_id, since$created)"""
  }

  private def feast(ttl: Option[Int], written: Boolean, names: String*): String = {
    spark.sql("SELECT *, concat(CAST(driver AS STRING), CAST(at AS STRING)) AS row_id FROM spine")
      .createOrReplaceTempView("entities")
    for (name <- names)
      spark.sql(feastView(name, ttl, written)).createOrReplaceTempView(s"${name}_cleaned")
    val joins = names.map(name =>
      s"LEFT JOIN (SELECT row_id, ${name}_value FROM ${name}_cleaned) USING (row_id)")
    s"SELECT driver, at, label, ${names.map(_ + "_value").mkString(", ")} FROM entities ${joins.mkString(" ")}"
  }

  test("Feast: the latest row of each table, with and without a time to live") {
    tables()
    for ((ttl, written) <- Seq(None -> false, Some(9) -> true))
      check(feast(ttl, written, "trips"), ranked = 1)
    check(feast(None, written = true, "trips", "ratings"), ranked = 2)
  }

  test("pairs joined with the greatest time of their row", Slow) {
    tables()
    val base = "WITH base AS (SELECT s.label, s.at, s.driver, e.since, e.written, e.value " +
      "FROM spine s JOIN trips e ON e.driver = s.driver AND e.since <= s.at) "
    def last(function: String) =
      s"(SELECT label, driver, at, $function AS since FROM base GROUP BY label, driver, at) AS m"
    check(
      base + s"SELECT base.* FROM base JOIN ${last("max(since)")} USING (label, driver, at, since)",
      1)
    check(
      base + s"SELECT b.value, m.since, m.at FROM ${last("max(since)")} JOIN base b " +
        "ON m.label = b.label AND b.driver = m.driver AND m.at = b.at AND b.since = m.since",
      1
    )
    check(
      base.replace("<= s.at", "BETWEEN s.at - INTERVAL 9 HOURS AND s.at") +
        s"SELECT base.* FROM base JOIN ${last("min(since)")} USING (label, driver, at, since)",
      1
    )
    // Compared with less than they are ranked by, or with something else.
    for (query <- Seq(
        s"SELECT base.* FROM base JOIN ${last("max(since)")} USING (label, driver, since)",
        s"SELECT base.* FROM base JOIN ${last("max(since)")} USING (label, driver, at)",
        s"SELECT base.* FROM base JOIN ${last("max(written)")} ON base.label = m.label AND " +
          "base.driver = m.driver AND base.at = m.at AND base.since = m.since",
        s"SELECT base.* FROM base JOIN ${last("max(since)")} ON base.label = m.label AND " +
          "base.driver = m.driver AND base.at = m.at AND base.written = m.since AND base.since = m.since",
        s"SELECT base.* FROM base JOIN ${last("max(since)")} ON base.label = m.label AND " +
          "base.driver = m.driver AND base.at = m.at AND base.since = m.since AND base.written = base.since",
        s"SELECT base.* FROM base LEFT JOIN ${last("max(since)")} USING (label, driver, at, since)"
      )) {
      val df = spark.sql(base + query)
      assertSameRows(
        rows(df),
        rowsOfStock(spark.sql(base + query)),
        query)
      assert(!execution(df).optimizedPlan.exists(_.isInstanceOf[Window]), query)
    }
  }

  private def checkRows(query: String): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    assertSameRows(rows(spark.sql(query)), expected, query)
  }

  test("a finer group is lost if its first row has a NULL") {
    spark.sql("SELECT 1 AS id, 1 AS k, 5 AS t").createOrReplaceTempView("one")
    spark.sql(
      "SELECT * FROM VALUES (1, 2, 1, 9), (1, 3, 1, NULL), (1, 3, 2, 7) AS many(k, t, c, v)")
      .createOrReplaceTempView("many")
    for (order <- Seq("v", "c NULLS LAST, v NULLS LAST")) {
      val columns = if (order == "v") "v" else "c, v"
      checkRows(s"""WITH base AS (SELECT s.id, e.t, e.c, e.v FROM one s JOIN many e ON s.k = e.k AND e.t <= s.t),
        once AS (SELECT id, t, $columns FROM (
          SELECT *, row_number() OVER (PARTITION BY id, t ORDER BY $order) n FROM base) WHERE n = 1),
        latest AS (SELECT id, t, $columns FROM (
          SELECT *, row_number() OVER (PARTITION BY id ORDER BY t DESC, $order) n
          FROM base JOIN once USING (id, t, $columns)) WHERE n = 1)
        SELECT base.* FROM base JOIN latest USING (id, t, $columns)""")
    }
  }

  test("a numbered row is compared by more than it is ranked by") {
    spark.sql("SELECT 1 AS id, 1 AS k, 10 AS t").createOrReplaceTempView("one")
    // The latest has no x; the latest two tie.
    for (values <- Seq("(1, 5, NULL), (1, 3, 'z')", "(1, 5, 'x'), (1, 5, 'y'), (1, 3, 'z')")) {
      spark.sql(s"SELECT * FROM VALUES $values AS many(k, t, x)").createOrReplaceTempView("many")
      checkRows("""WITH pairs AS (SELECT o.id, m.t, m.x FROM one o JOIN many m ON o.k = m.k AND m.t <= o.t)
        SELECT count(*) FROM pairs p JOIN (
          SELECT id, t, x FROM (
            SELECT *, row_number() OVER (PARTITION BY id ORDER BY t DESC) n FROM pairs) WHERE n = 1) q
        ON p.id = q.id AND p.t = q.t AND p.x = q.x""")
    }
  }

  test("columns that are equal and not the same, and sums in another order") {
    spark.sql(
      "SELECT * FROM VALUES (1, 0.0D, 5), (1, -0.0D, 5) AS signs(k, d, t)").createOrReplaceTempView(
      "signs")
    spark.sql(
      "SELECT * FROM VALUES (1, 3, 10), (1, 4, 11) AS late(k, t, v)").createOrReplaceTempView(
      "late")
    checkRows("""WITH base AS (SELECT s.d, e.t, e.v FROM signs s JOIN late e ON s.k = e.k AND e.t <= s.t)
      SELECT base.d AS d, m.d AS of_group, v FROM base JOIN (SELECT d, max(t) AS t FROM base GROUP BY d) m
      ON base.d = m.d AND base.t = m.t""")
    def base(sum: String) = s"""SELECT s.id, e.t, $sum AS w, e.v FROM (
      SELECT 1 AS id, k, t, 0.1D * k AS a, 0.2D * k AS b, 0.3D * k AS c FROM signs) s
      JOIN late e ON s.k = e.k AND e.t <= s.t"""
    checkRows(s"""SELECT p.* FROM (${base("s.a + s.b + s.c")}) p JOIN (
      SELECT id, w, max(t) AS t FROM (${base(
        "s.c + s.b + s.a")}) GROUP BY id, w) m USING (id, w, t)""")
  }

  test("the same with DataFrames, filters above the join, and views by text") {
    tables()
    val base = spark.sql("SELECT s.label, s.at, s.driver, e.since, e.value " +
      "FROM spine s JOIN trips e ON e.driver = s.driver AND e.since <= s.at")
    base.createOrReplaceTempView("base_by_frame")
    spark.sql("CREATE OR REPLACE TEMP VIEW base_by_text AS SELECT s.label, s.at, s.driver, e.since, e.value " +
      "FROM spine s JOIN trips e ON e.driver = s.driver AND e.since <= s.at")
    val filtered = spark.table("spine").join(spark.table("trips"), "driver").where("since <= at")
    val keys = Seq("label", "driver", "at")
    val all = Seq(
      base,
      filtered,
      filtered.select("label", "driver", "at", "since", "value").where("value IS NOT NULL"),
      spark.table("base_by_frame"),
      spark.table("base_by_text")
    )
    for (pairs <- oneIn(2)(all)) {
      val latest = pairs.groupBy(keys.head, keys.tail: _*).agg("since" -> "max")
        .withColumnRenamed("max(since)", "since")
      def query = pairs.join(latest, keys :+ "since")
      val expected = rowsOfStock(query)
      for (engine <- nextEngine) withConf(engine: _*) {
        val df = query
        assertSameRows(rows(df), expected, executedPlan(df).toString)
        val joins = collect(executedPlan(df)) { case join: RangeJoinExec => join }
        assert(joins.map(_.best.isDefined) == Seq(true), executedPlan(df))
      }
    }
  }

  test("random tables in Feast's queries", Slow) {
    val random = new Random(20261130)
    for (_ <- 0 until 12) {
      tables(2 + random.nextInt(60), 2 + random.nextInt(200), random.nextInt())
      val ttl = Some(random.nextInt(40)).filter(_ => random.nextBoolean())
      check(feast(ttl, random.nextBoolean(), "trips"), ranked = 1)
    }
  }

  // ---------------------------------------------------------------- Hopsworks

  test("Hopsworks: rank() by the key of either side and the time of the spine") {
    tables()
    def feature(number: Int, name: String, of: String) =
      s"""right_$number AS (SELECT * FROM (
        SELECT s.label, s.driver, s.driver AS key_driver, s.at AS key_at, e.value AS ${name}_value,
          rank() OVER (PARTITION BY $of.driver, s.at ORDER BY e.since DESC) AS number
        FROM spine s INNER JOIN $name e ON s.driver = e.driver AND s.at >= e.since) WHERE number = 1)"""
    for (of <- Seq("e", "s"))
      check(
        s"""WITH ${feature(0, "trips", of)}, ${feature(1, "ratings", of)}
          SELECT a.label, a.driver, a.trips_value, b.ratings_value FROM right_0 a INNER JOIN right_1 b
          ON a.key_driver = b.key_driver AND a.key_at = b.key_at""",
        ranked = 2
      )
  }

  test("Hopsworks: row_number() of numbered rows, joined back") {
    tables()
    spark.table("spine").selectExpr("monotonically_increasing_id() AS row", "*").cache()
      .createOrReplaceTempView("numbered")
    try check(
        """WITH lookup AS (SELECT s.row, e.value,
          row_number() OVER (PARTITION BY s.row ORDER BY e.since DESC, e.value) AS number
          FROM numbered s LEFT JOIN trips e ON s.driver = e.driver AND s.at >= e.since)
        SELECT s.row, s.driver, s.at, f.value FROM numbered s LEFT JOIN lookup f
        ON s.row = f.row AND f.number = 1 ORDER BY s.row""",
        ranked = 1
      )
    finally spark.catalog.uncacheTable("numbered")
  }

  // ---------------------------------------------------------------- dbt

  test("dbt: snapshots, joined at a time and with one another") {
    tables()
    for (name <- Seq("trips", "ratings")) spark.sql(
      s"SELECT driver, value, since AS valid_from, lead(since) OVER (PARTITION BY driver ORDER BY since) AS valid_to FROM $name")
      .createOrReplaceTempView(s"${name}_snapshot")
    check(
      "SELECT s.*, d.value FROM spine s LEFT JOIN trips_snapshot d ON s.driver = d.driver " +
        "AND s.at >= d.valid_from AND (s.at < d.valid_to OR d.valid_to IS NULL)",
      ranked = 0,
      pairs = 1
    )
    check(
      "SELECT s.*, d.value FROM spine s LEFT JOIN trips_snapshot d ON s.driver = d.driver " +
        "AND s.at >= d.valid_from AND s.at < coalesce(d.valid_to, TIMESTAMP'9999-12-31')",
      ranked = 0,
      pairs = 1
    )
    check(
      "WITH a AS (SELECT *, coalesce(valid_to, TIMESTAMP'9999-12-31') AS until FROM trips_snapshot), " +
        "b AS (SELECT *, coalesce(valid_to, TIMESTAMP'9999-12-31') AS until FROM ratings_snapshot) " +
        "SELECT a.driver, a.value, b.value, greatest(a.valid_from, b.valid_from), least(a.until, b.until) " +
        "FROM a LEFT JOIN b ON a.driver = b.driver AND a.valid_from <= b.until AND a.until >= b.valid_from",
      ranked = 0,
      pairs = 1
    )
  }

  // ---------------------------------------------------------------- tempo

  test("tempo: rows up to the next one of their key, filtered above a join by names") {
    tables()
    def query = {
      val until = lead("r_since", 1).over(Over.partitionBy("driver").orderBy("r_since"))
      val versions =
        spark.table("trips").select(col("driver"), col("since").as("r_since"), col("value"))
          .withColumn("lead_since", until)
      val end = coalesce(col("lead_since"), lit("2099-01-01").cast("timestamp"))
      spark.table("spine").join(versions, Seq("driver"))
        .where(col("at").between(col("r_since"), end)).drop("lead_since")
    }
    query.createOrReplaceTempView("as_of")
    check("SELECT * FROM as_of", ranked = 0, pairs = 1)
  }

  // ---------------------------------------------------------------- MetricFlow

  test("MetricFlow: the last trip before each conversion, by the first value of a window") {
    tables()
    def last(
        column: String) = s"first_value(v.$column) OVER (PARTITION BY u.driver, u.at, u.row_id " +
      s"ORDER BY v.since DESC, v.value ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS $column"
    check(
      s"""SELECT since, driver, sum(n), count(DISTINCT row_id) FROM (
        SELECT DISTINCT ${Seq("value", "since", "driver").map(last).mkString(", ")}, u.row_id, u.n
        FROM trips v INNER JOIN (SELECT at, driver, 1 AS n, uuid() AS row_id FROM spine) u
        ON v.driver = u.driver AND (v.since <= u.at AND v.since > u.at - INTERVAL 9 HOURS))
      GROUP BY since, driver""",
      ranked = 1
    )
  }

  test("MetricFlow: cumulative metrics by a spine of hours, over a window and since midnight") {
    tables()
    spark.range(0, 70, 1, 2).selectExpr(
      "TIMESTAMP'2026-03-01' + make_interval(0, 0, 0, 0, CAST(id AS INT)) AS hour").createOrReplaceTempView(
      "hours")
    for (begin <- Seq("> s.hour - INTERVAL 6 HOURS", ">= date_trunc('day', s.hour)"))
      check(
        s"""SELECT s.hour, date_trunc('day', s.hour) AS day, sum(e.n) AS n, max(e.driver) FROM hours s
          INNER JOIN (SELECT date_trunc('hour', since) AS hour, driver, 1 AS n FROM trips) e
          ON (e.hour <= s.hour) AND (e.hour $begin) GROUP BY s.hour, date_trunc('day', s.hour)""",
        ranked = 0,
        aggregated = 1,
        settings = Seq("spark.sql.autoBroadcastJoinThreshold" -> "-1")
      )
  }

  // ---------------------------------------------------------------- windows of a spine

  test("one common table expression a window, joined back by the id of the spine") {
    tables()
    spark.table("spine").selectExpr("monotonically_increasing_id() AS row", "*").cache()
      .createOrReplaceTempView("numbered")
    def window(hours: Int) =
      s"""w$hours AS (SELECT s.row, count(e.driver) AS n$hours, sum(e.value) AS s$hours FROM numbered s
        LEFT JOIN trips e ON e.driver = s.driver AND e.since <= s.at AND e.since > s.at - INTERVAL $hours HOURS
        GROUP BY s.row)"""
    try check(
        s"""WITH ${Seq(3, 14, 30).map(window).mkString(", ")}
        SELECT * FROM numbered JOIN w3 USING (row) JOIN w14 USING (row) JOIN w30 USING (row)""",
        ranked = 0,
        aggregated = 3
      )
    finally spark.catalog.uncacheTable("numbered")
  }
}
