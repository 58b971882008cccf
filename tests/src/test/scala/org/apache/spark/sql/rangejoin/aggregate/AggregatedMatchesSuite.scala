// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, Settings}
import org.apache.spark.sql.rangejoin.best.TiedTables
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.util.Utils

import org.scalatest.tagobjects.Slow

/** Aggregates of the matches of each row are made in the join, from no pairs. */
class AggregatedMatchesSuite extends TiedTables {

  /** Keys and times with ties on both sides, some NULL, and more than one block of rows a key. */
  private def sides(): Unit = tiedTables(left = 120, right = 400)(
    "CASE WHEN id % 11 = 4 THEN NULL ELSE pmod(hash(id), 100) END AS x",
    "CAST(pmod(hash(id, 2), 1000) AS DECIMAL(9, 2)) AS m",
    "CAST(pmod(hash(id, 3), 1000) / 8 AS DOUBLE) AS d"
  )

  private val Functions =
    "count(*), count(r.x), sum(r.x), min(r.t), max(r.s), avg(r.m), sum(r.d), sum(l.v)"

  private def grouped(
      by: String = "l.id",
      functions: String = Functions,
      joinType: String = "LEFT",
      on: String = "l.k = r.k AND r.t BETWEEN l.t - 30 AND l.t",
      right: String = "r"): String = {
    val columns = if (by.isEmpty) functions else s"$by, $functions"
    val groups = if (by.isEmpty) "" else s"GROUP BY $by"
    s"SELECT /*+ HINT */ $columns FROM l $joinType JOIN $right ON $on $groups"
  }

  private def isAggregated(df: DataFrame): Boolean = nodes[AggregateMatchesExec](df).nonEmpty

  private def engines: Seq[Settings] = nextEngine

  private val Hints = Seq("MERGE(r)", "SHUFFLE_HASH(r)", "BROADCAST(r)")

  /** Compares with stock Spark, and looks for what aggregates, before and after the query has run. */
  private def checkAggregated(
      query: String,
      isInJoin: Boolean = true,
      hints: Seq[String] = oneIn(3)(Hints),
      settings: Settings = Nil): Seq[String] = {
    val expected = rowsOfStock(spark.sql(query))
    for (hint <- hints; engine <- engines) withConf(engine ++ settings: _*) {
      val df = spark.sql(query.replace("HINT", hint))
      def clue = s"$query\nby $hint under $engine\n${executedPlan(df)}"
      assert(isAggregated(df) == isInJoin, clue)
      assertSameRows(rows(df), expected, clue)
      assert(isAggregated(df) == isInJoin, clue)
    }
    expected
  }

  test("counts, sums, extremes and averages of each left row") {
    sides()
    for (joinType <- Seq("LEFT", "INNER"))
      assert(checkAggregated(grouped(joinType = joinType)).nonEmpty)
  }

  test("all earlier rows, all later rows, and rows on both sides", Slow) {
    sides()
    for (range <- Seq("r.t <= l.t", "r.t > l.t", "r.t BETWEEN l.t - 200 AND l.t + 200"))
      checkAggregated(grouped(on = s"l.k = r.k AND $range"))
  }

  test("groups of several left rows, of several columns, and of none", Slow) {
    sides()
    for (by <- Seq("l.k", "l.v, l.k", "l.v + 1", "")) checkAggregated(grouped(by = by))
  }

  test("filters, expressions, HAVING, and what a projection computes below", Slow) {
    sides()
    checkAggregated(grouped(functions =
      "count(*) FILTER (WHERE r.x > 40), sum(r.x * 2 + 1) FILTER (WHERE r.t % 2 = 0), avg(-r.d)"))
    checkAggregated(grouped() + " HAVING count(r.x) > 5")
    val computed =
      "SELECT /*+ HINT */ g, count(x), sum(x) FROM (SELECT l.id % 7 AS g, r.x + 1 AS x FROM l " +
        "LEFT JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 30 AND l.t) GROUP BY g"
    checkAggregated(computed)
  }

  testOfCases("ROLLUP, CUBE and GROUPING SETS, which make several rows of each", 3)(
    Seq("ROLLUP(l.k, l.v)", "CUBE(l.k, l.v)", "GROUPING SETS((l.k), (l.v, l.k), ())")) { sets =>
    sides()
    for (by <- sets) {
      val sets = grouped().replace("GROUP BY l.id", s"GROUP BY $by").replace("l.id, ", "l.k, l.v, ")
      checkAggregated(sets)
      checkAggregated(sets.replace("SELECT /*+ HINT */", "SELECT /*+ HINT */ grouping_id(),"))
    }
    val ofKey = "SELECT /*+ HINT */ l.v, l.k, sum(l.v), max(r.x) FROM l JOIN r " +
      "ON l.k = r.k AND r.t BETWEEN l.t - 30 AND l.t GROUP BY ROLLUP(l.v, l.k)"
    checkAggregated(ofKey)
    checkAggregated(ofKey.replace("ROLLUP(l.v, l.k)", "ROLLUP(l.v, l.k, r.x)"), isInJoin = false)
  }

  test("each of Spark's functions whose buffers can be merged", Slow) {
    sides()
    val ofNumbers = Seq("stddev", "stddev_pop", "variance", "var_pop", "skewness", "kurtosis")
      .map(f => s"round($f(r.x), 6)")
    val ofPairs =
      Seq(
        "corr",
        "covar_pop",
        "covar_samp",
        "regr_slope",
        "regr_r2",
        "regr_intercept",
        "regr_count")
        .map(f => s"round($f(r.x, r.t), 6)")
    val exact = Seq("bit_and(r.x)", "bit_or(r.x)", "bit_xor(r.x)", "bool_and(r.x > 3)") ++
      Seq("bool_or(r.x > 90)", "count_if(r.x > 50)", "try_sum(r.x)", "try_avg(r.x)") ++
      Seq("max_by(r.s, r.id)", "min_by(r.s, r.id)", "sum(r.m)", "max(r.m)", "count(r.x, r.t)")
    checkAggregated(grouped(functions = ofNumbers.mkString(", ")))
    checkAggregated(grouped(functions = exact.mkString(", ")))
    // Stock Spark divides by zero where all values of a row are the same.
    ansi(on = false)(checkAggregated(grouped(functions = ofPairs.mkString(", "))))
    // Buffers with strings and without, by either engine.
    checkAggregated(grouped(functions = exact.take(4).mkString(", "), joinType = "INNER"))
  }

  test("intervals of the other side, of which a row may be in many", Slow) {
    sides()
    spark.table("r").selectExpr("id", "k", "t AS a", "t + x * 2 - 20 AS b", "x")
      .createOrReplaceTempView("i")
    val within = "l.k = i.k AND l.t BETWEEN i.a AND i.b"
    // Some end before they begin, some have no end.
    for (right <- Seq("i", "(SELECT * FROM i WHERE b >= a) i")) {
      for (functions <- Seq("count(*)", "count(i.a), count(*)", "count(i.x), sum(i.x)"))
        checkAggregated(
          grouped(functions = functions, on = within, right = right),
          hints = Seq("MERGE(i)", "SHUFFLE_HASH(i)", "BROADCAST(i)"))
    }
    checkAggregated(
      grouped(
        functions = "count(*), max(i.x)",
        on = within.replace("l.k = i.k AND ", ""),
        right = "i"),
      hints = Seq("BROADCAST(i)", "MERGE(i)"))
  }

  test("a residual, which is asked of every pair", Slow) {
    sides()
    val asked = "l.k = r.k AND r.t BETWEEN l.t - 30 AND l.t AND r.x % 5 <> l.v"
    checkAggregated(grouped(on = asked))
    // For one group pairs are faster.
    checkAggregated(grouped(by = "", on = asked), isInJoin = false)
  }

  test("the right side, which is grouped by and preserved") {
    sides()
    checkAggregated(
      "SELECT /*+ HINT */ r.id, count(l.id), sum(l.v), sum(r.x) FROM l RIGHT JOIN r " +
        "ON l.k = r.k AND r.t BETWEEN l.t - 30 AND l.t GROUP BY r.id",
      hints = Seq("MERGE(l)", "SHUFFLE_HASH(l)", "BROADCAST(l)")
    )
  }

  test("correlated aggregates, and counts that are compared", Slow) {
    sides()
    val matches = "FROM r WHERE r.k = l.k AND r.t BETWEEN l.t - 30 AND l.t"
    // The engine decides which side is built.
    val queries = Seq(
      s"SELECT l.id, (SELECT sum(r.x) $matches) AS s FROM l",
      s"SELECT l.id FROM l WHERE (SELECT count(*) $matches) > 10")
    for (query <- queries; engine <- Engines) {
      val expected = rowsOfStock(spark.sql(query))
      withConf(engine: _*)(assertSameRows(rows(spark.sql(query)), expected, query))
    }
  }

  test("a sum of a row overflows only where that of its matches does", Slow) {
    for (k <- Seq(20, 400)) {
      // One more than the greatest in between: what is before a window, or a block within it.
      spark.range(k).selectExpr(
        "id AS t",
        s"CASE WHEN id % 2 = 0 THEN 1 ELSE -1 END * ${Long.MaxValue} AS x")
        .createOrReplaceTempView("r")
      spark.range(k).selectExpr("id", "id AS t").createOrReplaceTempView("l")
      def query(width: Int) = s"SELECT /*+ HINT */ l.id, sum(r.x) FROM l JOIN r " +
        s"ON l.id % 1 = r.t % 1 AND r.t BETWEEN l.t - $width AND l.t GROUP BY l.id"
      for (on <- Seq(true, false); width <- Seq(1, 40)) ansi(on)(checkAggregated(query(width)))
      spark.range(k).selectExpr("id AS t", s"${Long.MaxValue} AS x").createOrReplaceTempView("r")
      ansi(on = false)(checkAggregated(query(40)))
      ansi(on = true) {
        for (hint <- Hints) {
          val df = spark.sql(query(1).replace("HINT", hint))
          assert(isAggregated(df))
          val error = intercept[Exception](df.collect())
          assert(causesOf(error).exists(_.isInstanceOf[ArithmeticException]), error)
        }
      }
    }
  }

  test("a sum that is NULL when it has overflowed, of a block or to the end of a key", Slow) {
    spark.range(256).selectExpr(
      "id AS t",
      "CASE id WHEN 5 THEN -9e37BD WHEN 20 THEN 9e37BD WHEN 21 THEN 9e37BD ELSE 0BD END AS m",
      s"CASE id WHEN 5 THEN -1L WHEN 20 THEN 1L WHEN 21 THEN 1L ELSE 0L END * ${Long.MaxValue} AS x"
    ).createOrReplaceTempView("r")
    spark.range(20, 64).selectExpr("id", "id AS t").createOrReplaceTempView("l")
    val functions = Seq("sum(CAST(r.m AS DECIMAL(38, 0)))", "try_sum(r.x)", "sum(r.x)")
    // Stock Spark adds rows up in an order that it does not say: the sums are known. So is the order here, but
    // that an index of a range with a lower end alone begins with its last row.
    for (function <- functions; range <- Seq("r.t BETWEEN l.t - 58 AND l.t", "r.t >= l.t - 58")) {
      val query =
        s"SELECT count_if(s IS NULL), count(*) FROM (SELECT /*+ HINT */ l.id, $function AS s " +
          s"FROM l JOIN r ON l.id % 1 = r.t % 1 AND $range WHERE l.id >= 60 GROUP BY l.id)"
      val hints = if (range.startsWith("r.t >=")) Hints.take(1) else Hints
      for (hint <- hints; engine <- engines; on <- Seq(true, false)) withConf(engine: _*)(ansi(on) {
        val df = spark.sql(query.replace("HINT", hint))
        assert(isAggregated(df) && rows(df) == Seq("0|4"), s"$function, $range, $hint")
      })
    }
  }

  test("subqueries in the condition, and in what is aggregated", Slow) {
    sides()
    for (on <- Seq(
        "r.t BETWEEN l.t - 30 AND l.t AND r.x + l.v > (SELECT avg(x) FROM r)",
        "r.t BETWEEN l.t - (SELECT max(v) * 7 FROM l) AND l.t"))
      checkAggregated(grouped(on = s"l.k = r.k AND $on"))
    checkAggregated(grouped(functions =
      "sum(r.x + (SELECT min(v) FROM l)), count(*) FILTER (WHERE r.x > (SELECT avg(x) FROM r))"))
  }

  test("a limit above ends the task with memory taken") {
    spark.range(4000).selectExpr(
      "id % 40 AS k",
      "300 + id div 40 AS t").createOrReplaceTempView("l")
    spark.range(4000).selectExpr("id % 40 AS k", "id div 40 AS t", "CAST(id AS STRING) AS s")
      .createOrReplaceTempView("r")
    for (engine <- engines; hint <- Hints) withConf(engine: _*) {
      val df = spark.sql(s"SELECT /*+ $hint */ l.k, max(r.s) FROM l JOIN r ON l.k = r.k " +
        "AND r.t <= l.t GROUP BY l.k LIMIT 1")
      assert(isAggregated(df) && df.collect().length == 1)
    }
  }

  test("the scan of a streamed side is pruned by the index, as without the aggregate") {
    withTempPath { path =>
      spark.range(0, 8000, 1, 8).selectExpr("id", "id AS t").write.parquet(path)
      spark.read.parquet(path).createOrReplaceTempView("l")
      spark.range(50).selectExpr("id + 1000 AS t", "id AS x").createOrReplaceTempView("r")
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true") {
        val df = spark.sql("SELECT /*+ BROADCAST(r) */ l.id, count(*), sum(r.x) FROM l JOIN r " +
          "ON r.t BETWEEN l.t - 5 AND l.t GROUP BY l.id")
        df.collect()
        assert(isAggregated(df))
        val scan = only(nodes[FileSourceScanExec](df))
        assert(scan.dataFilters.exists(_.sql.contains("1000")), scan.dataFilters)
      }
    }
  }

  private def withTempPath(block: String => Unit): Unit = {
    val folder = Files.createTempDirectory("aggregated")
    try block(folder.resolve("table").toString)
    finally Utils.deleteRecursively(folder.toFile)
  }

  private def causesOf(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).toSeq

  test("an error of an input that no match has is not raised") {
    spark.range(200).selectExpr("id AS t", "id % 50 AS x").createOrReplaceTempView("r")
    spark.range(40).selectExpr("id", "id * 5 + 45 AS t").createOrReplaceTempView("l")
    // 1 / 0 at 0, 50, 100, 150: of no match, but in a block of those that are.
    val query =
      "SELECT /*+ HINT */ l.id, round(sum(1 / r.x), 9) FROM l JOIN r ON l.id % 1 = r.t % 1 " +
        "AND r.t BETWEEN l.t - 44 AND l.t + 4 GROUP BY l.id HAVING l.id % 10 = 0"
    ansi(on = true)(checkAggregated(query.replace("HAVING", "HAVING count(*) > 0 AND")))
  }

  test("NaN, infinities and zeros of either sign leave no trace in later windows") {
    spark.range(300).selectExpr(
      "id AS t",
      "CASE id % 97 WHEN 3 THEN DOUBLE('NaN') WHEN 5 THEN " +
        "DOUBLE('Infinity') WHEN 50 THEN DOUBLE('-Infinity') ELSE id / 8D END AS x")
      .createOrReplaceTempView("r")
    spark.range(300).selectExpr("id", "id AS t").createOrReplaceTempView("l")
    checkAggregated(
      "SELECT /*+ HINT */ l.id, sum(r.x), avg(r.x), min(r.x), max(r.x) FROM l JOIN r " +
        "ON l.id % 1 = r.t % 1 AND r.t BETWEEN l.t - 35 AND l.t GROUP BY l.id")
  }

  test("a window that spills from the first row, and an index for which there is no memory") {
    sides()
    for (on <- Seq("r.t BETWEEN l.t - 30 AND l.t", "r.t <= l.t", "r.t >= l.t");
      rows <- Seq(1, 20)) {
      val query = grouped(on = s"l.k = r.k AND $on").replace("HINT", "MERGE(r)")
      val expected = rowsOfStock(spark.sql(query))
      for (engine <- engines) withConf(engine ++ RangeJoinTest.spillingFrom(rows): _*) {
        val df = spark.sql(query)
        assertSameRows(this.rows(df), expected, s"$query under $engine")
        val metrics = only(JoinReports.of(executedPlan(df))).metrics
        assert(metrics("spillSize") > 0L && metrics("numPairs") == 0L, s"$query under $engine")
      }
    }
    checkAggregated(
      grouped(),
      hints = Seq("SHUFFLE_HASH(r)"),
      settings = Seq(InternalConf.IndexLimit.key -> "0"))
  }

  test("keys that are split, and joins without a key", Slow) {
    sides()
    for (query <- Seq(grouped(), grouped(joinType = "INNER", by = "l.k"))) {
      checkAggregated(
        query,
        hints = Seq("MERGE(r)"),
        settings = Seq(InternalConf.SkewBuckets.key -> "7"))
    }
    for (joinType <- Seq("LEFT", "INNER"); by <- Seq("l.id", "")) {
      checkAggregated(
        grouped(on = "r.t BETWEEN l.t - 30 AND l.t", joinType = joinType, by = by),
        hints = Seq("MERGE(r)"),
        settings = Seq(InternalConf.RangePartitioningBuckets.key -> "7")
      )
    }
  }

  test("what is not aggregated in the join says why", Slow) {
    sides()
    val refused = Seq(
      grouped(functions = "count(DISTINCT r.x)") -> "distinct",
      grouped(functions = "sort_array(collect_list(r.x))") -> "not computed by expressions",
      grouped(functions = "sum(r.x + l.v)") -> "both sides",
      grouped(by = "l.id, r.x", functions = "count(*)") -> "one side",
      grouped(functions = "first(r.k)") -> "order of rows"
    )
    for ((query, reason) <- refused) {
      checkAggregated(query, isInJoin = false)
      val advice = JoinReports.of(executedPlan(spark.sql(query))).flatMap(_.advice)
      assert(query.contains("DISTINCT") || advice.exists(_.contains(reason)), s"$query: $advice")
    }
    val switchedOff = RangeJoinConf.AggregatedMatches.key -> "false"
    withConf(switchedOff)(checkAggregated(grouped(), isInJoin = false))
  }

  test("a stock join that has come in the place of the range join") {
    sides()
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      for (query <- Seq(grouped(), grouped(by = ""), grouped(joinType = "INNER"))) {
        val plan = executedPlan(spark.sql(query.replace("HINT", "MERGE(r)"))).transform {
          case aggregate: AggregateMatchesExec => aggregate.copy(child = aggregate.join.get.asStock)
        }
        assert(plan.exists(_.isInstanceOf[SortMergeJoinExec]))
        val toRow = CatalystTypeConverters.createToScalaConverter(plan.schema)
        val found = plan.executeCollect().map(toRow(_).toString).toSeq.sorted
        assert(found == withConf(
          Flag -> "false")(spark.sql(query).collect().map(_.toString).toSeq.sorted))
      }
    }
  }

  test("reports name the functions, and no pair was looked at") {
    sides()
    val df = spark.sql(grouped(functions = "count(*), sum(r.x)", on = "l.k = r.k AND r.t <= l.t"))
    df.collect()
    val report = only(JoinReports.of(executedPlan(df)))
    assert(report.text.contains("aggregated in the join: count(1), sum(r.x)"), report.text)
    assert(report.advice.isEmpty)
    assert(report.metrics("numMatches") > 1000L && report.metrics("numPairs") == 0L)
  }
}
