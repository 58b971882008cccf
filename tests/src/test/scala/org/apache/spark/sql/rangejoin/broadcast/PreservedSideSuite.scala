// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{
  BuildLeft,
  BuildRight,
  BuildSide,
  InferFiltersFromConstraints
}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.RightSide
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.shims.ClassicSession.Dataset
import org.apache.spark.sql.rangejoin.{JobsTest, RangeJoinTest}

import org.scalatest.tagobjects.Slow

/** Joins without a key whose broadcast side is preserved, or is all that comes out. */
class PreservedSideSuite extends BroadcastTables with JobsTest {

  override protected def hasOneEngine: Boolean = true

  private val Ways = Seq(
    ("LEFT", "l", BuildLeft),
    ("RIGHT", "r", BuildRight),
    ("FULL", "l", BuildLeft),
    ("FULL", "r", BuildRight),
    ("LEFT SEMI", "l", BuildLeft),
    ("LEFT ANTI", "l", BuildLeft)
  )

  // Hints decide, but for existence joins.
  override protected def settings: Seq[(String, String)] = Seq(Threshold -> "-1")

  /** Ties, NULL, and the ends of the type; `z` is at times below `y`, or NULL. */
  private def view(name: String, rows: Int, seed: Int, where: String = "true"): Unit = {
    val y = s"pmod(hash(id, $seed), 300)"
    spark.range(0, rows, 1, 3).selectExpr(
      "id",
      s"CASE WHEN id % 11 = 3 THEN NULL WHEN id % 37 = 5 THEN 9223372036854775806 " +
        s"WHEN id % 37 = 6 THEN -9223372036854775808 ELSE $y END AS y",
      s"CASE WHEN id % 13 = 3 THEN NULL WHEN id % 41 = 5 THEN 9223372036854775807 " +
        s"ELSE $y + id % 7 - 1 END AS z",
      "CASE WHEN id % 17 = 2 THEN NULL ELSE id % 5 END AS v",
      s"CASE WHEN id % 19 = 4 THEN double('NaN') WHEN id % 19 = 5 THEN -0.0D ELSE $y / 7D END AS d",
      s"CASE WHEN id % 23 = 4 THEN NULL ELSE concat('common prefix ', $y) END AS s"
    ).where(where).createOrReplaceTempView(name)
  }

  private def views(): Unit = {
    view("l", 90, 1)
    view("r", 120, 2)
  }

  private def query(joinType: String, side: String, on: String): DataFrame = {
    val columns =
      if (Seq("LEFT SEMI", "LEFT ANTI").contains(joinType)) "l.id, l.y" else "l.id, l.s, r.id, r.z"
    spark.sql(s"SELECT /*+ BROADCAST($side) */ $columns FROM l $joinType JOIN r ON $on")
  }

  private def assertMarking(df: DataFrame, side: BuildSide): Unit = {
    val join = only(broadcastJoins(df))
    assert(join.buildSide == side && !join.supportCodegen, executedPlan(df))
    assert(nodes[BroadcastNestedLoopJoinExec](df).isEmpty, executedPlan(df))
  }

  private val shapes = Seq(
    "point in interval" -> "r.y BETWEEN l.y AND l.z",
    "interval on the streamed side" -> "l.y BETWEEN r.y AND r.z",
    "overlap" -> "l.y <= r.z AND r.y < l.z",
    "distance" -> "abs(l.y - r.y) <= 3",
    "band that may overflow" -> "r.y BETWEEN l.y - 2 AND l.y + 2",
    "one-sided" -> "l.y > r.z",
    "one-sided, of the other direction" -> "l.z <= r.y",
    "doubles with NaN" -> "r.d BETWEEN l.d - 1 AND l.d + 1",
    "strings, of which bounds are prefixes" -> "r.s >= l.s AND r.s <= concat(l.s, '1')"
  )
  private val residuals = Seq("", " AND l.v <> r.v", " AND (l.v < r.v OR r.v IS NULL) AND l.id > 9")

  // Every second join type, and residuals in turn: `JoinTypeSuite` has every type with the shapes of a range.
  for (((shape, on), i) <- shapes.zipWithIndex)
    testOfCases(s"$shape: join types give stock's rows", 3)(
      Ways.zipWithIndex.filter { case (_, j) => (i + j) % 2 == 0 }) { ways =>
      views()
      for {
        ((joinType, side, build), j) <- ways
        residual = residuals((i + j) / 2 % residuals.size)
        ansi = (i + j) / 2 % 2 == 0
      } withConf(SQLConf.ANSI_ENABLED.key -> ansi.toString) {
        // With ANSI stock raises for pairs that overflow.
        val safe = if (ansi) on.replace("l.y - 2", "try_subtract(l.y, 2)")
          .replace("l.y + 2", "try_add(l.y, 2)").replace("l.y - r.y", "try_subtract(l.y, r.y)")
        else on
        def df = query(joinType, side, safe + residual)
        checkAgainstStock(df)
        assertMarking(df, build)
      }
    }

  test("EXISTS and NOT EXISTS, alone, as a column and under OR, by the sizes of the sides", Slow) {
    view("l", 90, 1)
    view("few", 90, 1)
    // Of what comes from an RDD Spark knows nothing.
    view("r", 120, 2)
    val rows = spark.table("r").asInstanceOf[Dataset[_]]
    spark.internalCreateDataFrame(rows.queryExecution.toRdd.map(_.copy()), rows.schema)
      .createOrReplaceTempView("r")
    withConf(Threshold -> "10MB") {
      for {
        not <- Seq("", "NOT ")
        residual <- Seq("", " AND l.v <> r.v")
        found = s"${not}EXISTS (SELECT 1 FROM r WHERE r.y BETWEEN l.y AND l.z$residual)"
        sql <- Seq(
          s"SELECT id, y FROM l WHERE $found",
          s"SELECT id, $found AS found FROM l",
          s"SELECT id FROM l WHERE $found OR l.v = 1")
      } {
        assert(checkAgainstStock(spark.sql(sql)) > 10)
        withAdaptive(_ => assertMarking(spark.sql(sql), BuildLeft))
      }
      def byComparison =
        spark.sql("SELECT l.id, r.id FROM l LEFT JOIN r ON r.y < l.y AND r.z > l.y")
      assertMarking(byComparison, BuildLeft)
      checkAgainstStock(byComparison)
    }
  }

  test("rows of which no bound is known, and tasks without rows") {
    view("l", 90, 1)
    view("r", 120, 2, "id = 40")
    spark.sql("SELECT id, y, CASE WHEN y > 1000 THEN y END AS z, v, s FROM l")
      .createOrReplaceTempView("l")
    for ((joinType, side, _) <- Ways) {
      checkAgainstStock(query(joinType, side, "r.y BETWEEN l.y AND l.z"))
    }
  }

  test("an index of several slices gives each of its rows once", Slow) {
    withAdaptive { _ =>
      val (small, big) =
        (spark.range(0, 600000, 1, 2).toDF("a"), spark.range(0, 300000, 997, 3).toDF("b"))
      small.hint("broadcast").createOrReplaceTempView("small")
      big.createOrReplaceTempView("big")
      val on = "b BETWEEN a AND a + 9"
      val matched = 10L * 301 - 9
      def count(sql: String) = spark.sql(sql).count()
      assert(count(s"SELECT * FROM small LEFT SEMI JOIN big ON $on") == matched)
      assert(count(s"SELECT * FROM small LEFT ANTI JOIN big ON $on") == 600000 - matched)
      val outer =
        spark.sql(s"SELECT count(a), count(DISTINCT a), count(b) FROM small LEFT JOIN big ON $on")
      assert(rows(outer) == Seq(s"600000|600000|$matched"))
    }
  }

  // ---------------------------------------------------------------- around the join

  test(
    "a join above makes adaptive execution plan again, over the index that was broadcast",
    Slow) {
    views()
    withConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB", adaptive(true)) {
      for ((joinType, side, build) <- Ways) {
        def df = query(joinType, side, "r.y BETWEEN l.y AND l.z").toDF(
          (if (joinType.startsWith("LEFT ")) Seq("x", "y") else Seq("x", "s", "x2", "z")): _*)
          .join(table(90, 6), expr("x = id"), "left")
        val ours = df
        assertMarking(ours, build)
        assertSameRows(rows(ours), expected(df), joinType)
        assertMarking(ours, build)
        assert(nodes[SortMergeJoinExec](ours).isEmpty, executedPlan(ours))
      }
    }
  }

  test(
    "an index is reused by a join that shows rows that match nothing, and by one that does not",
    Slow) {
    views()
    val on = "r.y BETWEEN l.y AND l.z"
    def union(a: String, b: String) =
      spark.sql(Seq(a, b).map { joinType =>
        s"SELECT /*+ BROADCAST(l) */ l.id FROM l $joinType JOIN r ON $on"
      }.mkString(" UNION ALL "))
    // Filters of NULL are different ones, which stock does not share either.
    val rules = SQLConf.OPTIMIZER_EXCLUDED_RULES.key -> InferFiltersFromConstraints.ruleName
    withConf(rules)(withAdaptive { on =>
      for ((a, b) <- Seq(
          "LEFT" -> "INNER",
          "INNER" -> "LEFT",
          "LEFT" -> "LEFT ANTI",
          "FULL" -> "LEFT",
          "LEFT SEMI" -> "INNER",
          "LEFT SEMI" -> "LEFT ANTI")) {
        val df = union(a, b)
        assertSameRows(rows(df), expected(union(a, b)), s"$a, $b, adaptive: $on")
        assert(broadcastJoins(df).size == 2)
        val exchanges =
          nodes[ReusedExchangeExec](df).count(_.child.isInstanceOf[BroadcastExchangeExec])
        assert(exchanges == 1, s"$a, $b\n${executedPlan(df)}")
      }
    })
  }

  test(
    "functions of the user in a bound, a subquery in the residual, a cached join, UNION, LIMIT",
    Slow) {
    views()
    spark.udf.register("shifted", (y: Long) => y + 1)
    checkAgainstStock(query("LEFT", "l", "l.y IS NOT NULL AND r.y BETWEEN shifted(l.y) AND l.z"))
    checkAgainstStock(query(
      "LEFT ANTI",
      "l",
      "r.y BETWEEN l.y AND l.z AND r.v < (SELECT max(v) FROM l)"))
    withAdaptive { _ =>
      val wanted = expected(query("FULL", "l", "r.y BETWEEN l.y AND l.z"))
      val cached = query("FULL", "l", "r.y BETWEEN l.y AND l.z").cache()
      try for (_ <- 1 to 2) assertSameRows(rows(cached), wanted, "cached")
      finally cached.unpersist(blocking = true)
      for (((joinType, side, _), i) <- Ways.zipWithIndex; n = Seq(0, 1, 20)(i % 3)) {
        assert(query(joinType, side, "r.y BETWEEN l.y AND l.z").limit(n).collect().length == n)
      }
    }
    for (union <- Seq("true", "false")) {
      withConf("spark.sql.codegen.wholeStage.union.enabled" -> union) {
        checkAgainstStock(query("LEFT", "l", "r.y < l.y AND r.z > l.y").select("s")
          .union(spark.table("r").select("s")))
      }
    }
  }

  test("the code of what is above and below is generated, as with stock's join") {
    views()
    withConf(adaptive(false)) {
      for ((joinType, side, build) <- Ways) {
        val df = query(joinType, side, "r.y BETWEEN l.y AND l.z").selectExpr("length(concat(*))")
        val stages = executedPlan(df).collect { case s: WholeStageCodegenExec => s }
        assert(!stages.exists(s => fused(s.child).exists(_.isInstanceOf[BroadcastRangeJoinExec])))
        assert(executedPlan(df).isInstanceOf[WholeStageCodegenExec], executedPlan(df))
        val join = only(broadcastJoins(df))
        val streamed = if (build == BuildLeft) join.right else join.left
        assert(streamed.isInstanceOf[WholeStageCodegenExec], executedPlan(df))
      }
    }
  }

  test("the join runs as its rows are asked for, in the job that asks") {
    views()
    withConf(adaptive(false)) {
      for ((joinType, side, _) <- Ways) {
        val df = query(joinType, side, "r.y BETWEEN l.y AND l.z").asInstanceOf[Dataset[_]]
        def assertOneJob(block: => Unit): Unit = {
          val jobs = startedJobs(block).map(_.stageInfos.map(_.name))
          assert(jobs.size == 1, s"$joinType: $jobs")
        }
        // That of the broadcast.
        assertOneJob(df.queryExecution.toRdd.partitions)
        assertOneJob(df.queryExecution.toRdd.count())
      }
    }
  }

  testOfCases(
    "metrics: candidates are counted once, the streamed side as often as stock reads it",
    5)(for (engine <- RangeJoinTest.Engines; (joinType, side, _) <- Ways)
    yield (engine, joinType, side)) { cases =>
    views()
    for ((engine, joinType, side) <- cases) withConf(engine: _*) {
      val on = "r.y BETWEEN l.y AND l.z AND coalesce(l.v, 9) <> coalesce(r.v, 9)"
      val df = query(joinType, side, on)
      val stock = withConf(Flag -> "false") {
        val df = query(joinType, side, on)
        df.collect()
        df
      }
      val pairs = withConf(Flag -> "false") {
        // NULL does not count, and nor does a candidate that cannot be one.
        query("INNER", "l", "r.y BETWEEN l.y AND l.z").count()
      }
      val n = df.collect().length
      val join = only(broadcastJoins(df))
      assert(join.metrics("numOutputRows").value == n)
      val inStock = only(nodes[BroadcastNestedLoopJoinExec](stock))
      assert(inStock.metrics("numOutputRows").value == n)
      assert(join.metrics("numCandidates").value >= pairs, s"$joinType $engine")
      assert(join.metrics("numCandidates").value < pairs * 2, s"$joinType $engine")
      def read(df: DataFrame) = collect(executedPlan(df)) { case r: RangeExec => r }
        .map(_.metrics("numOutputRows").value).sorted
      assert(read(df) == read(stock), s"$joinType, $engine")
    }
  }

  test("EXPLAIN, reports and the hint RANGE_JOIN") {
    views()
    withAdaptive { _ =>
      val df = spark.sql(
        "SELECT /*+ RANGE_JOIN(l, 5), BROADCAST(l) */ l.id FROM l LEFT JOIN r ON r.y BETWEEN l.y AND l.z")
      assertMarking(df, BuildLeft)
      val plan = df.asInstanceOf[Dataset[_]].queryExecution.explainString(SimpleMode)
        .replaceAll("#\\d+L?", "")
      assert(
        plan.contains("BroadcastRangeJoin LeftOuter, BuildLeft, range: (y >= y) AND (y <= z)"),
        plan)
      val report = only(JoinReports.of(executedPlan(df)))
      assert(report.reason.isEmpty && report.streamed.contains(RightSide))
    }
  }

  test("the flags leave it to stock Spark") {
    views()
    withAdaptive { _ =>
      for (flag <- Seq(Flag, RangeJoinConf.Broadcast.key)) {
        withConf(flag -> "false") {
          for ((joinType, side, _) <- Ways) {
            val df = query(joinType, side, "r.y BETWEEN l.y AND l.z")
            assert(broadcastJoins(df).isEmpty && nodes[BroadcastNestedLoopJoinExec](df).size == 1)
          }
        }
      }
    }
  }
}
