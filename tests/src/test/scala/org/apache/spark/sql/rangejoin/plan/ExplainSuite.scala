// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{ExtendedMode, FormattedMode, SimpleMode}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.shims.BuiltFor
import org.apache.spark.sql.rangejoin.{JobsTest, LogCapture, RangeJoinExtensions, RangeJoinTest}
import org.apache.spark.{SPARK_VERSION, SparkContext}

/** What a user sees of the join: EXPLAIN, metrics, configuration, warnings. */
class ExplainSuite extends JobsTest {

  private def events(): Unit = {
    spark.sql(
      """SELECT id, cast(id % 4 AS int) AS k, cast(id AS int) AS t
        |FROM range(100)""".stripMargin
    ).createOrReplaceTempView("l")
    spark.sql(
      """SELECT id, cast(id % 4 AS int) AS k, cast(id * 2 AS int) AS t
        |FROM range(100)""".stripMargin
    ).createOrReplaceTempView("r")
  }

  private def query: DataFrame = {
    events()
    spark.sql("SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND l.id <> r.id " +
      "AND r.t BETWEEN l.t - 10 AND l.t + 20")
  }

  private def explained(mode: org.apache.spark.sql.execution.ExplainMode): String =
    execution(query).explainString(mode).replaceAll("#\\d+L?", "")

  test("EXPLAIN shows keys, range and residual") {
    for (mode <- Seq(SimpleMode, ExtendedMode)) {
      val plan = explained(mode)
      assert(
        plan.contains(
          "SortMergeRangeJoin [k], [k], Inner, range: (t >= (t - 10)) AND (t <= (t + 20)), " +
            "residual: NOT (id = id)"
        ),
        plan
      )
    }
  }

  test("EXPLAIN FORMATTED shows keys, range, residual and which side is streamed") {
    val plan = explained(FormattedMode)
    for (line <- Seq(
        "Left keys [1]: [k]",
        "Right keys [1]: [k]",
        "Join type: Inner",
        "Range: (t >= (t - 10)) AND (t <= (t + 20))",
        "Residual: NOT (id = id)",
        "Streamed side: left",
        "Buffered side: right"
      )) {
      assert(plan.contains(line), s"$line\n$plan")
    }
  }

  test("EXPLAIN names the columns that are broadcast and sorted by, as the user does") {
    events()
    def plan(sql: String) =
      execution(spark.sql(sql)).explainString(SimpleMode).replaceAll("#\\d+L?", "")
    val hinted = "SELECT /*+ BROADCAST(r) */ l.id, r.id FROM l JOIN r ON"
    assert(plan(s"$hinted l.k = r.k AND r.t BETWEEN l.t - 10 AND l.t + 20")
      .contains("BroadcastExchange RangeIndex([k], range: t), [plan_id"))
    assert(plan(s"$hinted l.t BETWEEN r.t AND r.t + r.id")
      .contains(
        "BroadcastExchange RangeIndex(range: t, (cast(t as bigint) + id)), "))
    val sorted = plan("SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND r.t % 7 < l.t % 5")
    assert(sorted.contains("(t % 7) AS (t % 7)]"), sorted)
    assert(sorted.contains("RangeSort [k ASC NULLS FIRST, (t % 7) ASC NULLS FIRST]"), sorted)
    // Spark's way to write a struct puts names in the place of its parts, for a moment.
    val structs = plan("SELECT l.id FROM l JOIN r ON l.k = r.k " +
      "AND named_struct('a', r.t * -1) < named_struct('a', l.t * -1)")
    assert(structs.contains("SortMergeRangeJoin"), structs)
  }

  test("the job that collects a range index says so, after what the user says of it") {
    events()
    try for (engine <- RangeJoinTest.TwoEngines) withConf(engine: _*) {
        spark.sparkContext.setJobDescription("mine")
        val jobs = startedJobs(spark.sql(
          "SELECT /*+ BROADCAST(r) */ l.id FROM l JOIN r ON l.k = r.k AND r.t < l.t").collect())
        assert(descriptions(jobs).toSet ==
          Set("mine: collect rows to broadcast as RangeIndex([k], range: t)", "mine"))
        assert(spark.sparkContext.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION) == "mine")
      }
    finally spark.sparkContext.setJobDescription(null)
  }

  test("metrics say what was examined, evicted, held and emitted") {
    for (engine <- RangeJoinTest.Engines) withConf(engine: _*) {
      val df = query
      val n = df.collect().length
      val metrics = only(rangeJoins(df)).metrics.map { case (name, m) => name -> m.value }
      val sameId = spark.sql(
        "SELECT 1 FROM l JOIN r ON l.k = r.k AND l.id = r.id AND r.t BETWEEN l.t - 10 AND l.t + 20"
      )
        .count()
      assert(metrics("numOutputRows") == n)
      // What the residual refuses was examined; nothing else was.
      assert(metrics("numCandidates") == n + sameId)
      assert(metrics("numEvictedRows") > 0)
      assert(metrics("peakWindowRows") > 0 && metrics("peakWindowRows") < 100)
      assert(metrics("peakMemory") > 0)
      assert(metrics("spillSize") == 0)
    }
  }

  test("every configuration entry has a documentation, a version and a default") {
    for (entry <- RangeJoinConf.all) {
      assert(entry.doc.nonEmpty && entry.version.nonEmpty, entry.key)
      assert(spark.sql("SET -v").where(s"key = '${entry.key}'").count() == 1, entry.key)
    }
    for (entry <- InternalConf.all) {
      assert(entry.doc.nonEmpty && entry.version.nonEmpty && !entry.isPublic, entry.key)
      assert(spark.sql("SET -v").where(s"key = '${entry.key}'").isEmpty, entry.key)
    }
    assert(spark.conf.get("spark.sql.join.smj.useInnerRangeOptimization") == "true")
  }

  test("on a Spark it was not made for the extension warns once and steps aside") {
    assert(RangeJoinExtensions.supports(SPARK_VERSION))
    for (line <- BuiltFor.lines; release <- Seq(line, s"$line.0", s"$line.7-SNAPSHOT"))
      assert(RangeJoinExtensions.supports(release), release)
    val others = Seq("3.5", "4.0", "4.1", "4.2", "4.3").diff(BuiltFor.lines) ++
      Seq("5.0", s"${BuiltFor.lines.head}0")
    for (other <- others) assert(!RangeJoinExtensions.supports(s"$other.1"), other)
    val messages = LogCapture.messages("org.apache.spark.sql.rangejoin") {
      RangeJoinExtensions.warnOnce("5.0.0")
      RangeJoinExtensions.warnOnce("5.0.0")
    }
    val message = only(messages)
    assert(message.contains(s"Spark ${BuiltFor.lines.head}") && message.contains("Spark 5.0.0"))
  }

  test("the plan names the streamed side that keeps the window small") {
    events()
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val interval = spark.sql(
        "SELECT 1 FROM l JOIN r ON l.k = r.k AND l.t >= r.t AND l.t <= r.t + r.id"
      )
      // Points leave the window in order; intervals would stay as long as the longest.
      assert(only(rangeJoins(interval)).verboseStringWithOperatorId()
        .contains("Buffered side: left"))
    }
  }

  test("a canonicalized plan can be shown") {
    val plan = only(rangeJoins(query)).canonicalized
    assert(plan.toString.contains("SortMergeRangeJoin"))
    assert(plan.verboseStringWithOperatorId().contains("Inner"))
  }
}
