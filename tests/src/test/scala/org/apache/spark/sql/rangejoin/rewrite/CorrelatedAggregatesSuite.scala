// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import java.nio.file.Files

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.{DataFrame, Row}

import org.scalatest.tagobjects.Slow

/** Correlated subqueries that aggregate the rows of a range. */
class CorrelatedAggregatesSuite extends RangeJoinTest {

  private val Range = "r.k = l.k AND r.t <= l.t"

  private def sides(): Unit = {
    def side(name: String, rows: Int) = spark.range(rows)
      .selectExpr(
        "id",
        "IF(id % 13 = 5, NULL, id % 7) AS k",
        "IF(id % 11 = 3, NULL, id * 7 % 50) AS t",
        "IF(id % 5 = 2, NULL, id * 3 % 17) AS v",
        "IF(id % 6 = 0, -0.0D, IF(id % 6 = 1, 0.0D, IF(id % 6 = 2, double('NaN'), id / 4))) AS d",
        "concat('n', id) AS s",
        "map(id, -0.0D) AS m",
        "array(-0.0F, float(id)) AS a",
        "named_struct('d', -0.0D, 's', 'x') AS st",
        "CAST(id AS DECIMAL(30, 2)) AS big"
      )
      .createOrReplaceTempView(name)
    side("l", 150)
    side("r", 300)
  }

  /** @param holds what else has to hold of a plan */
  private def check(
      query: String,
      joins: Int = 1,
      settings: Settings = Nil,
      holds: DataFrame => Boolean = _ => true): DataFrame = {
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- nextEngine) withConf(engine ++ settings: _*) {
      val df = spark.sql(query)
      def clue = s"$query\n${executedPlan(df)}"
      assert(nodes[AggregateMatchesExec](df).size == joins, clue)
      if (joins > 0) assert(aggregates(df).isEmpty, clue)
      assert(holds(df), clue)
      assertSameRows(rows(df), expected, clue)
    }
    spark.sql(query)
  }

  private def optimized(query: String): String =
    execution(spark.sql(query)).optimizedPlan.toString

  /** Those of the query itself: a Bloom filter of keys is an aggregate as well. */
  private def aggregates(df: DataFrame): Seq[BaseAggregateExec] =
    collect(executedPlan(df)) { case aggregate: BaseAggregateExec => aggregate }

  private def subquery(functions: String, where: String = Range): String =
    s"(SELECT $functions FROM r WHERE $where)"

  private val Functions = Seq(
    "count(*)",
    "count(1)",
    "count(r.v)",
    "count(r.v, r.d)",
    "sum(r.v)",
    "avg(r.v)",
    "min(r.s)",
    "max(r.d)",
    "sum(r.big)",
    "count(*) FILTER (WHERE r.v IS NULL)",
    "sum(coalesce(r.v, 7))",
    "max(coalesce(r.s, 'none'))",
    "sum(1)",
    "bool_and(r.v IS NULL)",
    "count_if(r.v IS NULL)",
    "max_by(r.s, r.id)",
    "try_sum(r.v)",
    "bit_xor(coalesce(r.v, 9))",
    "round(stddev(CAST(r.v AS INT)), 6)",
    "coalesce(sum(r.v) * 2, -1) + count(*)",
    "IF(count(*) = 0, 'none', max(r.s))"
  )

  testOfCases("functions of rows that match, and of none", 7)(Functions) { functions =>
    sides()
    for (function <- functions) check(s"SELECT l.id, ${subquery(function)} AS found FROM l")
  }

  test("all of them in one subquery") {
    sides()
    val all = Functions.zipWithIndex.map { case (function, i) => s"$function AS f$i" }
    check(s"SELECT l.id, x.* FROM l, LATERAL ${subquery(all.mkString(", "))} AS x")
  }

  testOfCases("functions of pairs, which a range join makes of each key", 4)(Seq(
    "count(DISTINCT r.v)",
    "count(DISTINCT r.s) FILTER (WHERE r.v > 3) + count(*)",
    "count(DISTINCT r.v) - count(DISTINCT r.big)",
    "sort_array(collect_list(r.v))",
    "sort_array(collect_set(r.s)) AS x",
    "percentile(r.v, 0.5) + sum(r.v)",
    "median(r.v)",
    "mode(IF(r.v > 3, r.k, NULL))",
    "percentile_approx(r.v, array(0.1, 0.9))",
    "approx_count_distinct(r.v)"
  )) { functions =>
    sides()
    for (function <- functions) {
      val query = s"SELECT l.id, ${subquery(function)} AS found FROM l"
      assert(optimized(query).contains("monotonically"), query)
      check(query, joins = 0, holds = nodes[RangeJoinExec](_).size == 1)
    }
  }

  test("ranges of one end and of two, right filters, views, and the same table on both sides") {
    sides()
    val counts = Seq(
      "r.k = l.k AND r.t > l.t",
      "r.k = l.k AND r.t BETWEEN l.t - 9 AND l.t",
      "r.k = l.k AND r.t <= l.t AND r.v > 3 AND r.s LIKE 'n1%'",
      "r.k <=> l.k AND r.t < l.t",
      "r.k = l.k AND r.id % 3 = l.id % 3 AND r.t < l.t + 2",
      "r.k = l.k AND r.t <= l.t AND r.id <> l.id",
      "r.k = l.k AND r.t <= l.t AND (r.v < l.v OR l.v = 3) AND l.s LIKE 'n1%'"
    ).map(subquery("count(*)", _))
    check(s"SELECT l.id, ${counts.mkString(", ")} FROM l", joins = counts.size)
    check("SELECT l.id, (SELECT sum(x) FROM (SELECT k AS y, t, v + 1 AS x FROM r WHERE v < 9) " +
      "WHERE y = l.k AND t <= l.t) AS total FROM l")
    // Spark 3.5 gives both sides the same columns.
    val ofOneView = if (SPARK_VERSION >= "4.0") 1 else 0
    check(
      "SELECT id, (SELECT sum(r.v) FROM l AS r WHERE r.k = l.k AND r.t < l.t) AS before FROM l",
      ofOneView)
    spark.sql("SELECT * FROM l WHERE id < 100").createOrReplaceTempView("few")
    check(
      "SELECT id, (SELECT sum(r.v) FROM few AS r WHERE r.k = l.k AND r.t < l.t) AS before " +
        "FROM few AS l",
      ofOneView)
  }

  test("columns of any type are as they were, in plans that Spark finds valid") {
    sides()
    def check(query: String) =
      this.check(query, settings = Seq(SQLConf.PLAN_CHANGE_VALIDATION.key -> "true"))
    check(s"SELECT *, ${subquery("sum(r.v)")} AS total FROM l")
    check(s"SELECT d, m, a, st, big, ${subquery("sum(r.v)")} AS total FROM l")
    check(s"SELECT l.d, l.d AS e, try_divide(1, l.d) AS one, ${subquery("count(*)")} AS n FROM l")
    check(
      s"SELECT o.d, ${subquery("count(*)", "r.d = o.d AND r.t <= o.t")} AS n FROM l AS o")
  }

  test("in WHERE, twice, LATERAL, and over rows that are the same", Slow) {
    sides()
    check(s"SELECT id FROM l WHERE v > ${subquery("avg(r.v)")}")
    check(s"SELECT id, v FROM l WHERE ${subquery("count(*)")} % 3 = 2 OR v = 3")
    check(
      s"SELECT id, ${subquery("sum(r.v)")} - ${subquery("count(*)", "r.k = l.k AND r.t > l.t")} AS x " +
        "FROM l",
      joins = 2)
    check(s"SELECT k, t, ${subquery("sum(r.v)")} AS x FROM (SELECT k, t FROM l, range(2)) l")
    for (how <- Seq("CROSS JOIN", "LEFT JOIN"); on = if (how == "CROSS JOIN") "" else "ON true")
      check(
        s"SELECT l.id, x.* FROM l $how LATERAL (SELECT sum(r.v) AS s, count(*) AS n, " +
          s"max(r.d) + 1 AS m FROM r WHERE $Range) AS x $on")
  }

  // Stock Spark refuses outer columns in a function, but not in a subquery that the function reads.
  test("functions of windows of their own", Slow) {
    sides()
    val rows = "(SELECT r.v, r.s, r.t >= l.t - 3 AS near, r.t < l.t - 9 AND r.v > 3 AS early, " +
      s"l.v AS own FROM r WHERE $Range)"
    for {
      functions <- Seq(
        "sum(CASE WHEN near THEN v END)",
        "sum(v), sum(CASE WHEN near THEN v ELSE 0 END), count(*) FILTER (WHERE near), count_if(early)",
        "max(s) FILTER (WHERE near AND v > 4), avg(IF(near, v, own)), count(*)",
        "min(v), count(IF(early, 1, NULL)), sum(IF(own > 3 AND near, v, 0))"
      )
      how <- Seq("CROSS JOIN", "LEFT JOIN")
    } {
      val on = if (how == "CROSS JOIN") "" else "ON true"
      val df =
        check(s"SELECT l.id, x.* FROM l $how LATERAL (SELECT $functions FROM $rows) AS x $on")
      df.collect()
      for (matches <- nodes[AggregateMatchesExec](df))
        assert(matches.metrics("numPairs").value == 0, executedPlan(df))
    }
    check(
      s"SELECT id, (SELECT sum(IF(near, v, 0)) FROM $rows) AS x, " +
        s"(SELECT count(*) FROM $rows WHERE near) AS n FROM l",
      joins = 2)
  }

  test("several of the same rows are one join", Slow) {
    sides()
    val sum = subquery("sum(r.v)")
    check(
      s"SELECT id, $sum AS a, ${subquery("count(*)")} AS b, ${subquery("max(r.d)")} AS c FROM l")
    check(
      s"SELECT id FROM l WHERE coalesce($sum, 0) / (${subquery("count(*)")} + 1) > 3 OR $sum < 4")
    check(s"SELECT id, $sum BETWEEN 3 AND 90 AS a FROM l")
    check(
      s"SELECT id, $sum AS a, (SELECT min(x.s) FROM r AS x WHERE x.t <= l.t AND l.k = x.k) AS b, " +
        "(SELECT min(v) FROM (SELECT k, t, v FROM r) WHERE k = l.k AND t <= l.t) AS c FROM l",
      joins = 2
    )
    // As an aggregate, the greatest value comes with the others.
    check(s"SELECT id, ${subquery("max(r.t)")} AS a, $sum AS b FROM l")
    check(
      s"SELECT id, $sum AS a, ${subquery("sum(r.v)", s"$Range AND r.v > 3")} AS b, " +
        s"${subquery("count(*)", s"r.v > 3 AND $Range")} AS c FROM l",
      joins = 2)
    val query =
      s"SELECT id, $sum AS a, ${subquery("count(DISTINCT r.d)")} AS b, ${subquery("count(r.v)")} AS c " +
        "FROM l"
    val expected = rowsOfStock(spark.sql(query))
    val df = spark.sql(query)
    assertSameRows(rows(df), expected, query)
    assert(nodes[AggregateMatchesExec](df).size == 1, executedPlan(df))
  }

  test("rows of files that were listed at two times are two joins", Slow) {
    sides()
    // Of the first and of the second version of sources.
    for (versions <- Seq("parquet", "")) withConf(SQLConf.USE_V1_SOURCE_LIST.key -> versions) {
      val path = Files.createTempDirectory("listed").resolve("rows").toString
      for ((name, rows) <- Seq("some" -> "id < 30", "all" -> "id >= 30")) {
        spark.table("r").select("k", "t", "v", "id").where(rows).write.mode("append").parquet(path)
        spark.read.parquet(path).createOrReplaceTempView(s"listed_$name")
        // The second version lists files when they are first asked for.
        spark.table(s"listed_$name").count()
      }
      def of(name: String) = s"(SELECT count(*) FROM listed_$name AS r WHERE $Range)"
      // Spark may read what it takes to be the same only once.
      val apart = Seq(SQLConf.EXCHANGE_REUSE_ENABLED.key -> "false")
      withConf(apart: _*) {
        check(s"SELECT id, ${of("some")} AS a, ${of("all")} AS b FROM l", joins = 2)
        check(s"SELECT id, ${of("all")} AS a, ${of("all")} + 1 AS b FROM l")
      }
    }
  }

  test("with a broadcast, and with adaptive execution") {
    sides()
    val query = s"SELECT id, s, ${subquery("sum(r.v)")} AS total, d FROM l"
    for (threshold <- Seq("-1", "10MB"); adaptive <- Seq("true", "false"))
      check(
        query,
        settings = Seq(
          SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> threshold,
          SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive))
  }

  test("where other software has put a join of Spark's in the place of the range join") {
    sides()
    val query = s"SELECT id, d, ${subquery("count(*)")} AS n, " +
      s"${subquery("max(r.s)", "r.k = l.k AND r.t > l.t")} AS s FROM l"
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- nextEngine)
      withConf(engine :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false"): _*) {
        val plan = executedPlan(spark.sql(query)).transform { case matches: AggregateMatchesExec =>
          matches.copy(child = matches.join.get.asStock)
        }
        assert(plan.collect { case join: RangeJoinExec => join }.isEmpty)
        assert(plan.collect { case matches: AggregateMatchesExec =>
          matches.number
        }.flatten.size == 2)
        val toRow = CatalystTypeConverters.createToScalaConverter(plan.schema)
        val found = plan.executeCollect().map(toRow(_).asInstanceOf[Row].mkString("|")).toSeq.sorted
        assertSameRows(found, expected, plan.toString)
      }
  }

  private def leftSides(df: DataFrame) =
    execution(df).optimizedPlan.collect { case join: Join => join.left }

  test(
    "a subquery that nobody reads is not run, and columns that nobody reads are not grouped by") {
    sides()
    spark.sql(
      s"SELECT l.*, ${subquery("sum(r.v)")} AS total FROM l").createOrReplaceTempView("totals")
    check("SELECT count(*) FROM totals", joins = 0)
    check("SELECT id, d, m FROM totals", joins = 0)
    check("SELECT DISTINCT k FROM totals", joins = 0)
    val grouped = execution(check("SELECT s, total FROM totals")).optimizedPlan.collect {
      case aggregate: Aggregate => aggregate
    }
    assert(grouped.map(_.groupingExpressions.size) == Seq(3))
    assert(grouped.map(_.aggregateExpressions.size) == Seq(2))
  }

  test("filters on left columns and limits go below the join") {
    sides()
    spark.sql(
      s"SELECT l.*, ${subquery("sum(r.v)")} AS total FROM l").createOrReplaceTempView("totals")
    for (filter <- Seq("id < 20", "d > 3", "s LIKE 'n1%'", "id < 100 AND t > 3 AND total > 20")) {
      val df = check(s"SELECT id, total FROM totals WHERE $filter")
      val plan = execution(df).optimizedPlan
      val below = leftSides(df).flatMap(_.collect { case filter: Filter => filter })
      assert(below.size == 1, plan)
      // Above are filters of the total alone, and below the join those of the right side.
      val others = plan.collect { case filter: Filter => filter }.diff(below)
      assert(others.size == (if (filter.contains("total")) 2 else 1), plan)
    }
    val limited = spark.sql("SELECT id, d, total FROM totals LIMIT 7")
    assert(leftSides(limited).exists(_.exists(_.isInstanceOf[LocalLimit])))
    val all = rowsOfStock(spark.sql("SELECT id, d, total FROM totals"))
    for (engine <- nextEngine) withConf(engine: _*) {
      val found = rows(spark.sql("SELECT id, d, total FROM totals LIMIT 7"))
      assert(found.size == 7 && found.diff(all).isEmpty)
    }
    val some = spark.sql("SELECT id FROM totals WHERE total > 9 LIMIT 7")
    assert(!leftSides(some).exists(_.exists(_.isInstanceOf[LocalLimit])))
  }

  test("filters with a subquery go below the join, unless it is correlated") {
    sides()
    spark.sql(
      s"SELECT l.*, ${subquery("sum(r.v)")} AS total FROM l").createOrReplaceTempView("totals")
    def filtersBelow(filter: String): Int = {
      val df = check(s"SELECT id, total FROM totals WHERE $filter")
      leftSides(df).flatMap(_.collect {
        case node @ (_: Filter | _: Join) => node
      }).size
    }
    assert(filtersBelow("t = (SELECT max(t) FROM r)") == 1)
    assert(filtersBelow("k IN (SELECT v FROM r WHERE t > 40)") >= 1)
    assert(filtersBelow("k NOT IN (SELECT v FROM r WHERE v IS NOT NULL)") >= 1)
    assert(filtersBelow("v < 9 AND EXISTS (SELECT 1 FROM r WHERE r.t > 48)") >= 1)
    val correlated =
      "SELECT id, total FROM totals WHERE EXISTS (SELECT 1 FROM r WHERE r.v = totals.v)"
    val expected = rowsOfStock(spark.sql(correlated))
    assertSameRows(rows(spark.sql(correlated)), expected, correlated)
  }

  test("a common table expression that is read twice is planned for each of its readers") {
    sides()
    val totals = s"WITH totals AS (SELECT l.*, ${subquery("sum(r.v)")} AS total FROM l) "
    val firsts = s"WITH totals AS (SELECT l.*, ${subquery("max_by(r.v, r.t)")} AS total FROM l) "
    for (common <- Seq(totals, firsts)) {
      val query = common + "SELECT id, total FROM totals WHERE id = 5 UNION ALL " +
        "SELECT k, count(*) FROM totals GROUP BY k"
      val df = spark.sql(query)
      val expected = rowsOfStock(spark.sql(query))
      assertSameRows(rows(df), expected, query)
      val optimized = execution(df).optimizedPlan
      assert(!optimized.exists(_.isInstanceOf[RepartitionOperation]), optimized)
      // The count reads no total.
      assert(collect(executedPlan(df)) { case join: RangeJoinExec => join }.size == 1, optimized)
    }
    check(
      totals + "SELECT a.id, a.total, b.total FROM totals a JOIN totals b ON a.id = b.id + 1",
      joins = 2)
  }

  test("right columns without NULLs, and functions that Spark folds", Slow) {
    sides()
    spark.range(200).selectExpr(
      "id % 5 AS k",
      "id % 50 AS t",
      "id AS v").createOrReplaceTempView("r")
    for (function <- Seq("count(*)", "count(r.v)", "sum(r.v + 1)", "count_if(r.v > 3)", "max(7)"))
      check(s"SELECT l.id, ${subquery(function)} AS x FROM l")
    val folded =
      Seq("count(*) FILTER (WHERE false)", "count_if(false)", "sum(r.v) FILTER (WHERE 1 = 0)")
    for (function <- folded; reads <- Seq("x.p", "x.p, x.q")) {
      val query = s"SELECT l.id, $reads FROM l, LATERAL " +
        s"(SELECT $function AS p, sum(r.v) AS q FROM r WHERE $Range) AS x"
      val expected = rowsOfStock(spark.sql(query))
      for (engine <- nextEngine) withConf(engine: _*)(
        assertSameRows(rows(spark.sql(query)), expected, query))
    }
  }

  test("overflow and errors of what is aggregated") {
    sides()
    withConf(SQLConf.ANSI_ENABLED.key -> "true") {
      val query = s"SELECT l.id, ${subquery("sum(r.v + 9223372036854775800)")} AS x FROM l"
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        val error = intercept[Exception](spark.sql(query).collect())
        assert(error.toString.contains("ARITHMETIC_OVERFLOW"))
      }
      // No right row of these is a match.
      check(
        s"SELECT l.id, ${subquery("sum(1 / r.v)", s"$Range AND r.v <> 0 AND r.t > 99")} AS x FROM l")
    }
  }

  test("a filter of a function is not asked of a row without matches") {
    sides()
    ansi(on = true) {
      for (f <- Seq("sum(v)", "count(v)", "min(v)", "max_by(v, t)"))
        check(
          s"SELECT *, ${subquery(s"$f FILTER (WHERE 10 / coalesce(id + 1, 0) > 1)")} AS f FROM l")
    }
  }

  test("what is left to Spark") {
    sides()
    val others = Seq(
      subquery("count(DISTINCT r.d)"),
      subquery("count(DISTINCT r.v, r.k)"),
      subquery("sum(DISTINCT r.v)"),
      subquery("bitmap_construct_agg(r.v)"),
      subquery("sum(r.v)", "r.k = l.k"),
      s"(SELECT sum(r.v) FROM r WHERE $Range GROUP BY r.k)",
      s"(SELECT sum(r.v) FROM r WHERE $Range HAVING count(*) > 3)"
    ).map(other => s"size(array($other))")
    check(s"SELECT l.id, ${others.mkString(", ")} FROM l", joins = 0)
    assert(!optimized(s"SELECT l.id, ${others.mkString(", ")} FROM l").contains("monotonically"))
    // Spark folds constants, and would be left without a key or a range.
    for (columns <-
        Seq("1 AS k, t", "k, 20 AS t", "1 AS k, 20 AS t", "1 + one AS k, one + 20 AS t"))
      check(
        s"SELECT l.id, ${subquery("sum(r.v)")} AS total FROM " +
          s"(SELECT id, $columns FROM (SELECT *, 1 AS one FROM l)) AS l",
        joins = 0)
    val total = s"SELECT l.id, ${subquery("sum(r.v)")} AS total FROM l"
    for (key <-
        Seq(RangeJoinConf.Correlated, RangeJoinConf.AggregatedMatches, RangeJoinConf.Enabled))
      withConf(key.key -> "false")(assert(nodes[AggregateMatchesExec](spark.sql(total)).isEmpty))
  }
}
