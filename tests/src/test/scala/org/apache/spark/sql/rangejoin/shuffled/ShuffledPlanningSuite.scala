// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.{BandOfTables, RangeJoinTest}

import org.scalatest.tagobjects.Slow

/** Where Spark plans a shuffled hash join. */
class ShuffledPlanningSuite extends BandOfTables {

  override protected def hasOneEngine: Boolean = true

  private val joinTypes =
    Seq("inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti")

  private def stockHashed(df: DataFrame): Seq[ShuffledHashJoinExec] =
    collect(executedPlan(df)) { case join: ShuffledHashJoinExec => join }

  private def hashed: DataFrame = l.join(r.hint("shuffle_hash"), band)

  for {
    (side, built) <- Seq("left" -> BuildLeft, "right" -> BuildRight)
    joinType <- joinTypes
    if built == BuildRight || !Set("left_semi", "left_anti")(joinType)
  } test(s"a $joinType join that builds the $side side") {
    def query =
      if (built == BuildLeft) l.hint("shuffle_hash").join(r, band, joinType)
      else l.join(r.hint("shuffle_hash"), band, joinType)
    val expected = rowsOfStock(query)
    for {
      (settings, sorted) <- Seq(
        Nil -> false,
        Seq(InternalConf.LinearScanThreshold.key -> "0") -> false,
        Seq(InternalConf.IndexLimit.key -> "0") -> true)
      engine <- nextEngine
    } withConf(settings ++ engine: _*) {
      val df = query
      assert(only(shuffledJoins(df)).buildSide == built)
      assertSameRows(rows(df), expected, s"${executedPlan(df)}")
      val metrics = only(shuffledJoins(df)).metrics
      assert(metrics("numOutputRows").value == expected.size)
      assert((metrics("sortedPartitions").value > 0) == sorted)
      // An empty partition is always indexed.
      assert(sorted || metrics("buildDataSize").value > 0)
      assert(metrics("peakMemory").value > 0)
    }
  }

  test("only pairs in range are looked at, by either way") {
    def query = table(3000, 1).as("l").join(table(3000, 2).as("r").hint("shuffle_hash"), band)
    for (limit <- Seq(Long.MaxValue, 0L)) withConf(InternalConf.IndexLimit.key -> s"${limit}b") {
      val df = query
      val count = rows(df).size
      assert(only(shuffledJoins(df)).metrics("numCandidates").value == count)
    }
  }

  test("an index that turns out to be too large is given up amid the build side", Slow) {
    // Of many keys and times, so that few rows match.
    def side(seed: Int) = table(20000, seed).select(
      col("id"),
      (col("k") + col("id") % 10 * keys).as("k"),
      (col("t") + col("id") % 200 * times).as("t"))
    def query = side(1).as("l").join(side(2).as("r").hint("shuffle_hash"), band, "full_outer")
    withConf(SQLConf.SHUFFLE_PARTITIONS.key -> "1", InternalConf.IndexLimit.key -> "300k") {
      checkAgainstStock(query, engines = RangeJoinTest.TwoEngines)
      val df = query
      rows(df)
      val metrics = only(shuffledJoins(df)).metrics
      assert(metrics("sortedPartitions").value == 1)
    }
  }

  test("the flags switch plans at any time in a session") {
    assert(shuffledJoins(hashed).size == 1 && stockHashed(hashed).isEmpty)
    for (flag <- Seq(Flag, RangeJoinConf.Shuffled.key)) withConf(flag -> "false") {
      assert(shuffledJoins(hashed).isEmpty && stockHashed(hashed).size == 1)
    }
    assert(shuffledJoins(hashed).size == 1)
  }

  test("settings and sizes that make Spark choose a shuffled hash join") {
    val few = spark.range(3).selectExpr("id", "id AS k", "id AS t").as("r")
    withConf(
      "spark.sql.join.preferSortMergeJoin" -> "false",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "40") {
      def query = l.join(few, expr(s"l.k = r.k and $within"))
      assert(only(shuffledJoins(query)).buildSide == BuildRight)
      checkAgainstStock(query)
    }
    withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      SQLConf.ADAPTIVE_MAX_SHUFFLE_HASH_JOIN_LOCAL_MAP_THRESHOLD.key -> "1g",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "1m"
    ) {
      def query = l.join(r, band)
      val expected = rowsOfStock(query)
      assert(rangeJoins(query).size == 1, "sorted, as far as Spark knows")
      val df = query
      assertSameRows(rows(df), expected, "")
      assert(shuffledJoins(df).size == 1 && rangeJoins(df).isEmpty, executedPlan(df))
    }
  }

  test("a skewed partition is split, and the node says so") {
    def side(rows: Int) = spark.range(0, rows, 1, 4).selectExpr(
      "id",
      s"CASE WHEN id % 10 > 0 THEN 0 ELSE id % 97 END AS k",
      "id % 1000 AS t")
    def query = side(20000).as("l").join(side(500).as("r").hint("shuffle_hash"), band)
    withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD.key -> "1k",
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_FACTOR.key -> "1",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "20k",
      SQLConf.SHUFFLE_PARTITIONS.key -> "5"
    ) {
      val expected = rowsOfStock(query)
      for (limit <- Seq("1g", "0")) withConf(InternalConf.IndexLimit.key -> limit) {
        val df = query
        assertSameRows(rows(df), expected, "")
        assert(only(shuffledJoins(df)).nodeName == "ShuffledRangeJoin(skew=true)")
      }
    }
  }

  test("neither side is sorted, and code is generated as for the stock join") {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      for (joinType <- joinTypes) {
        val df = l.join(r.hint("shuffle_hash"), band, joinType)
        val plan = executedPlan(df)
        assert(!plan.toString.contains("Sort "), plan)
        val fusedWithParent = plan.collect {
          case stage: WholeStageCodegenExec
              if fused(stage.child).exists(_.isInstanceOf[ShuffledRangeJoinExec]) => stage
        }
        assert(fusedWithParent.size == 1, plan)
      }
      val off = SQLConf.ENABLE_FULL_OUTER_SHUFFLED_HASH_JOIN_CODEGEN.key -> "false"
      withConf(off) {
        val full = l.join(r.hint("shuffle_hash"), band, "full_outer")
        assert(!only(shuffledJoins(full)).supportCodegen)
      }
    }
  }

  test("many partitions in one task are joined one after the other") {
    withConf(
      SQLConf.SHUFFLE_PARTITIONS.key -> "7",
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      checkAgainstStock(hashed.coalesce(1))
    }
  }

  /** A stock join that keeps the order of its streamed side, which sorting would not. */
  private def overOrdered: DataFrame = {
    val numbered = l.selectExpr("*", "row_number() OVER (PARTITION BY k ORDER BY id) AS n").as("l")
    numbered.join(r.hint("shuffle_hash"), band).where("n > 1")
  }

  test("a streamed side in an order that sorting would lose keeps the stock join, and says why") {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val df = overOrdered
      val join = only(stockHashed(df))
      assert(join.outputOrdering.nonEmpty)
      assert(only(JoinReports.of(executedPlan(df))).reason.exists {
        case Reason.OrderedStreamedSide(order) => order == join.outputOrdering
        case _                                 => false
      })
      assertSameRows(rows(df), rowsOfStock(overOrdered), "")
    }
  }

  test("a cached side that is in the order of a column that is not read") {
    val cached = spark.range(60).selectExpr("id % 4 AS k", "id % 17 AS t", "id AS z")
      .repartition(3, col("k")).sortWithinPartitions("k", "t", "z").cache()
    try {
      rows(cached)
      // Where it raises, a sum is known to rise with its column.
      for {
        joinType <- Seq("inner", "left")
        engine <- bothEngines
      } withConf(engine :+ (SQLConf.ANSI_ENABLED.key -> "true"): _*) {
        val band = expr("l.k = r.k AND r.t BETWEEN l.t - 2 AND l.t + 2")
        def query = cached.select("k", "t").as("l")
          .join(table(100, 5).as("r").hint("shuffle_hash"), band, joinType)
          .select(col("l.k"), col("l.t"), col("r.id"))
        assertSameRows(rows(query), rowsOfStock(query), joinType)
        assert(shuffledJoins(query).size == 1, executedPlan(query))
      }
    } finally cached.unpersist(blocking = true)
  }

  test("a streamed side in the order of its keys keeps it, by either way") {
    val band = "l.k = r.k and r.t between l.t - 2 and l.t + 2"
    def query(condition: String) = {
      val first = l.join(r.hint("merge"), expr(band)).select(
        col("l.id").as("id"),
        col("l.k").as("k"),
        col("l.t").as("t")).as("l")
      val second = first.join(table(100, 5).as("r").hint("shuffle_hash"), expr(condition))
        .select(col("l.id"), col("l.k").as("k"), col("r.id").as("other")).as("second")
      second.join(table(50, 7).as("z").hint("merge"), expr("second.k = z.k"))
    }
    // The rows are in order by key and time, which the last of these does not ask for, and another time.
    val conditions = Seq(
      band -> 2,
      "l.k = r.k and r.t between l.t + l.id and l.t + l.id + 3" -> 1,
      "l.k = r.k and r.t <= l.t and r.id % 7 = 1" -> 2)
    for (((condition, promised), limit) <- conditions.zip(Seq("1g", "0", "1g")))
      withConf(
        InternalConf.IndexLimit.key -> limit,
        // Where it raises, a sum is known to rise with its column.
        SQLConf.ANSI_ENABLED.key -> "true") {
        val join = only(shuffledJoins(query(condition)))
        assert(join.outputOrdering.size == promised && join.normalForm.isRight)
        checkAgainstStock(query(condition), joins = 2, engines = nextEngine)
      }
  }

  test("EXPLAIN names the range, the sides and the figures") {
    val report = only(JoinReports.of(executedPlan(hashed)))
    assert(report.operator == "ShuffledRangeJoin" && report.range.size == 2)
    val formatted = only(shuffledJoins(hashed)).verboseStringWithOperatorId()
    for (part <- Seq("Range: ", "Residual: None", "Streamed side: left", "Build side: right")) {
      assert(formatted.contains(part), formatted)
    }
    assert(executedPlan(hashed).toString.contains("ShuffledRangeJoin [k#"))
  }
}
