// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.execution.{SortExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.rangejoin.{BandOfTables, LogCapture}

/** Which joins are planned as range joins, and what of Spark's own decisions keeps its effect. */
class PlanningSuite extends BandOfTables {

  override protected def hasOneEngine: Boolean = true

  private def withAdaptive(test: String => Unit): Unit =
    for (adaptive <- Seq("true", "false")) {
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive)(test(s"adaptive: $adaptive"))
    }

  private def has[T](df: DataFrame)(implicit tag: scala.reflect.ClassTag[T]): Boolean =
    collect(executedPlan(df)) { case node if tag.runtimeClass.isInstance(node) => node }.nonEmpty

  test("the flag switches plans at any time in a session") {
    withAdaptive { clue =>
      def df = l.join(r, band)
      assert(rangeJoins(df).size == 1, clue)
      withConf(Flag -> "false") {
        assert(rangeJoins(df).isEmpty, clue)
        assert(stockJoins(df).size == 1, clue)
      }
      assert(rangeJoins(df).size == 1, clue)
    }
  }

  test("a bad value of the flag is an error that names the key") {
    val error = intercept[IllegalArgumentException](spark.conf.set(Flag, "perhaps"))
    assert(error.getMessage.contains(Flag))
    assert(error.getMessage.contains("perhaps"))
  }

  for ((hint, node) <- Seq[(String, Class[_])](
      "broadcast" -> classOf[BroadcastRangeJoinExec],
      "shuffle_hash" -> classOf[ShuffledRangeJoinExec],
      "shuffle_replicate_nl" -> classOf[CartesianProductExec]
    )) {
    test(s"the hint $hint keeps its effect") {
      withAdaptive { clue =>
        val hinted = l.join(r.hint(hint), band)
        val expected = rowsOfStock(l.join(r, band))
        assert(rangeJoins(hinted).isEmpty, clue)
        assert(collect(executedPlan(hinted)) { case n if node.isInstance(n) => n }.size == 1, clue)
        assertSameRows(rows(hinted), expected, clue)
      }
    }
  }

  test("the hint merge gives a range join where Spark would broadcast") {
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB") {
      withAdaptive { clue =>
        assert(has[BroadcastRangeJoinExec](l.join(r, band)), clue)
        assert(rangeJoins(l.join(r, band)).isEmpty, clue)
      }
      checkAgainstStock(l.join(r.hint("merge"), band))
    }
  }

  test("a hint that cannot be followed is warned of once") {
    // A full outer join cannot broadcast.
    def warnings(flag: String): Seq[String] = withConf(Flag -> flag) {
      LogCapture.messages("org.apache.spark.sql") {
        executedPlan(l.hint("broadcast").join(r, band, "full_outer"))
      }.filter(_.startsWith("Hint"))
    }
    val stock = warnings("false")
    assert(stock.nonEmpty)
    assert(warnings("true") == stock)
  }

  test("a strategy that comes later is asked for every join that is not ours, and for no other") {
    val asked = new AtomicInteger()
    object Later extends SparkStrategy {
      override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
        case _: Join =>
          asked.incrementAndGet()
          Nil
        case _ => Nil
      }
    }
    def timesAsked(df: DataFrame): Int = {
      asked.set(0)
      executedPlan(df)
      asked.get()
    }
    val before = spark.experimental.extraStrategies
    spark.experimental.extraStrategies = Seq(MarkRangeJoins(spark), Later)
    try withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
        for (range <- Seq(band, expr("l.t <= r.t"))) assert(timesAsked(l.join(r, range)) == 0)
        for (condition <- Seq(
            "l.k = r.k",
            "l.k = r.k and l.t <> r.t",
            "l.k = r.k and l.t * r.t <= 10"
          )) assert(timesAsked(l.join(r, expr(condition))) == 1, condition)
        assert(timesAsked(l.join(r.hint("shuffle_hash"), band)) == 0)
        withConf(RangeJoinConf.Shuffled.key -> "false") {
          assert(timesAsked(l.join(r.hint("shuffle_hash"), band)) == 1)
        }
        withConf(RangeJoinConf.Broadcast.key -> "false") {
          assert(timesAsked(l.join(r.hint("broadcast"), band)) == 1)
        }
        withConf(Flag -> "false")(assert(timesAsked(l.join(r, band)) == 1))
      }
    finally spark.experimental.extraStrategies = before
  }

  test("a hint of a join without a range is warned of once") {
    for (condition <- Seq("l.k = r.k", "l.k = r.k and l.t * r.t <= 10", "l.t * r.t <= 10")) {
      def warnings(flag: String): Seq[String] = withConf(Flag -> flag) {
        LogCapture.messages("org.apache.spark.sql") {
          executedPlan(l.hint("shuffle_hash").join(r.hint("merge"), expr(condition), "full_outer"))
        }.filter(_.startsWith("Hint"))
      }
      assert(warnings("true") == warnings("false"), condition)
    }
  }

  test("adaptive execution still turns the join into a broadcast join") {
    withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
    ) {
      val expected = rowsOfStock(l.join(r, band))
      val df = l.join(r, band)
      assert(rangeJoins(df).size == 1)
      assertSameRows(rows(df), expected, "after the first stages")
      assert(rangeJoins(df).isEmpty)
      assert(has[BroadcastRangeJoinExec](df))
    }
  }

  test("adaptive execution still splits skewed partitions of the join") {
    withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      SQLConf.COALESCE_PARTITIONS_ENABLED.key -> "false",
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD.key -> "2000",
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_FACTOR.key -> "1.5",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "1500",
      SQLConf.SHUFFLE_PARTITIONS.key -> "5"
    ) {
      def skewed(rows: Int, seed: Int) = spark.range(0, rows, 1, 6).select(
        col("id"),
        when(col("id") % 10 < 8, lit(3)).otherwise(col("id") % 40).as("k"),
        pmod(hash(col("id"), lit(seed)), lit(5000)).as("t")
      )
      def df = skewed(4000, 1).as("l").join(skewed(3000, 2).as("r"), band)
      val expected = rowsOfStock(df)
      val split = df
      assertSameRows(rows(split), expected, "skewed")
      val join = only(rangeJoins(split))
      assert(join.isSkewJoin)
      assert(join.nodeName == "SortMergeRangeJoin(skew=true)")
      assert(collect(executedPlan(split)) {
        case read: AQEShuffleReadExec if read.hasSkewedPartition => read
      }.nonEmpty)
    }
  }

  test("sides are sorted by key and range column, in place of the sort by key")(ansi(on = true) {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val sorts = collect(executedPlan(l.join(r, band))) { case s: RangeSortExec => s }
      assert(sorts.size == 2)
      assert(
        sorts.forall(s =>
          s.sortOrder.map(_.child.sql).map(_.split('.').last) ==
            Seq("k", "t")),
        sorts
      )
    }
  })

  test("a distance is sorted by the columns themselves where arithmetic raises")(ansi(on = true) {
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      for (distance <- Seq("abs(l.t - r.t) <= 2", "l.t - r.t between -2 and 5")) {
        val df = l.join(r, expr(s"l.k = r.k and $distance"))
        val sorts = collect(executedPlan(df)) { case s: RangeSortExec => s }
        assert(sorts.map(_.sortOrder.last.child.sql.split('.').last) == Seq("t", "t"), sorts)
        checkAgainstStock(l.join(r, expr(s"l.k = r.k and $distance")))
      }
    }
  })

  test("a side that leaves by its bound alone is sorted by it where it is sorted in any case") {
    val from = expr("l.k = r.k and r.t >= l.t")
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      // A left join streams its left side: only the end of a range is the buffered side's.
      val sorts = collect(executedPlan(l.join(r, from, "left"))) { case s: RangeSortExec => s }
      assert(sorts.size == 2)
      assert(sorts.forall(_.sortOrder.last.child.sql.split('.').last == "t"), sorts)
      val sorted = r.repartition(3, col("k")).sortWithinPartitions("k")
      withConf(SQLConf.CAN_CHANGE_CACHED_PLAN_OUTPUT_PARTITIONING.key -> "false")(sorted.cache())
      try {
        def df = l.repartition(3, col("k")).as("l").join(sorted.as("r"), from, "left")
        assert(rangeJoins(df).size == 1)
        assert(collect(executedPlan(df)) { case s: RangeSortExec => s }.size == 1)
        assertSameRows(rows(df), rowsOfStock(df), "in order by key")
      } finally sorted.unpersist()
    }
    checkAgainstStock(l.join(r, from, "left"))
  }

  test("a side that comes in order is not sorted again") {
    withAdaptive { clue =>
      // Spark removes a sort below a join, but not from what is cached, whose order it knows where
      // its plan is not adaptive.
      val sorted = r.repartition(3, col("k")).sortWithinPartitions("k", "t")
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
        withConf(SQLConf.CAN_CHANGE_CACHED_PLAN_OUTPUT_PARTITIONING.key -> "false")(sorted.cache())
      }
      try {
        val left = l.repartition(3, col("k")).as("l")
        def df = left.join(sorted.as("r"), band)
        assert(rangeJoins(df).size == 1, clue)
        val sorts = collect(executedPlan(df)) { case s @ (_: SortExec | _: RangeSortExec) => s }
        assert(sorts.size == 1, executedPlan(df))
        assertSameRows(rows(df), rowsOfStock(df), clue)
      } finally sorted.unpersist()
    }
  }

  test("buckets that are sorted by key and range column are neither shuffled nor sorted")(ansi(on =
    true) {
    spark.sql("DROP TABLE IF EXISTS bucketed_l")
    spark.sql("DROP TABLE IF EXISTS bucketed_r")
    // One file a bucket, or Spark does not rely on the order.
    def save(df: DataFrame, name: String): Unit =
      df.repartition(3, col("k")).write.bucketBy(3, "k").sortBy("k", "t").saveAsTable(name)
    try {
      save(table(200, 1), "bucketed_l")
      save(table(150, 2), "bucketed_r")
      withConf(SQLConf.LEGACY_BUCKETED_TABLE_SCAN_OUTPUT_ORDERING.key -> "true") {
        def df = spark.table("bucketed_l").as("l").join(spark.table("bucketed_r").as("r"), band)
        checkAgainstStock(df)
        assert(!has[SortExec](df) && !has[RangeSortExec](df), executedPlan(df))
        assert(!has[org.apache.spark.sql.execution.exchange.ShuffleExchangeExec](df))
      }
    } finally {
      spark.sql("DROP TABLE IF EXISTS bucketed_l")
      spark.sql("DROP TABLE IF EXISTS bucketed_r")
    }
  })

  test("buckets that are sorted by key alone are sorted within a key, as they are read") {
    def save(df: DataFrame, name: String): Unit =
      df.repartition(3, col("k")).write.bucketBy(3, "k").sortBy("k").saveAsTable(name)
    val tables = Seq("in_order_l", "in_order_r")
    tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
    try {
      save(table(200, 1), "in_order_l")
      save(table(150, 2), "in_order_r")
      withConf(SQLConf.LEGACY_BUCKETED_TABLE_SCAN_OUTPUT_ORDERING.key -> "true") {
        // The order is seen through what computes a bound, and renames a key.
        for (bounds <- Seq(within, s"r.t * 2 between l.t * 2 - $reach and l.t * 2 + $reach")) {
          def side(name: String) =
            spark.table(name).select(col("id"), col("k").as("key"), col("t"))
          def df = side("in_order_l").as("l").join(
            side("in_order_r").as("r"),
            expr(s"l.key = r.key and $bounds"))
          assert(checkAgainstStock(df) > 0)
          val sorts = collect(executedPlan(df)) { case s @ (_: SortExec | _: RangeSortExec) => s }
          assert(sorts.size == 2)
          assert(sorts.forall(_.simpleString(100).contains("presorted: [key#")), sorts)
          assert(df.limit(1).collect().length == 1)
        }
      }
    } finally tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
  }

  test("of buckets in order by key a key with few rows is not put in order, one with many is") {
    val tables = Seq("few_l", "few_r")
    tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
    try {
      for (name <- tables)
        spark.range(400).selectExpr(
          "id",
          "if(id < 300, id % 60, 99) AS k",
          "pmod(hash(id), 50) AS t")
          .repartition(2, col("k")).write.bucketBy(2, "k").sortBy("k").saveAsTable(name)
      withConf(SQLConf.LEGACY_BUCKETED_TABLE_SCAN_OUTPUT_ORDERING.key -> "true") {
        for (joinType <- Seq("inner", "left", "right", "full", "left_semi", "left_anti")) {
          def df = spark.table("few_l").as("l").join(spark.table("few_r").as("r"), band, joinType)
          checkAgainstStock(df)
          withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
            val ran = df
            ran.collect()
            val sorts = collect(ran.queryExecution.executedPlan) { case s: RangeSortExec => s }
            // Rows without a match come out of a full outer join as they leave the window.
            val expected = if (joinType == "full") Seq(61L, 61L) else Seq(1L, 1L)
            assert(sorts.map(_.metrics("numGroups").value) == expected, joinType)
          }
        }
      }
    } finally tables.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
  }

  test("the order by key that the stock join promises is kept") {
    withAdaptive { clue =>
      val grouped = l.join(r, band).groupBy("l.k").agg(count("*"), sum("r.t"))
      assert(rangeJoins(grouped).size == 1, clue)
      assertSameRows(rows(grouped), rowsOfStock(grouped.select("*")), clue)
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
        val third = table(50, 3).as("x")
        val above = l.join(r, band).join(third, expr("l.k = x.k"))
        // Neither shuffled nor sorted again for the join above.
        val join = only(stockJoins(above))
        assert(!join.left.isInstanceOf[SortExec], executedPlan(above))
      }
    }
  }

  test("every join type is planned as a range join of that type") {
    val types = Seq(
      "inner" -> Inner,
      "left" -> LeftOuter,
      "right" -> RightOuter,
      "full" -> FullOuter,
      "left_semi" -> LeftSemi,
      "left_anti" -> LeftAnti
    )
    for ((name, joinType) <- types) {
      val join = only(rangeJoins(l.join(r, band, name)))
      assert(join.joinType == joinType)
      assert(checkAgainstStock(l.join(r, band, name)) > 0, name)
    }
  }

  test("joins that are no range joins are left alone") {
    for (condition <- Seq(
        "l.k = r.k",
        "l.k = r.k and l.t <> r.t",
        "l.k = r.k and (l.t < r.t or l.t > r.t + 10)",
        "l.k = r.k and l.t * r.t < 10"
      )) {
      val df = l.join(r, expr(condition))
      assert(rangeJoins(df).isEmpty, condition)
      assert(stockJoins(df).size == 1, condition)
    }
  }

  test("the log says at debug level why a join with a range is left alone") {
    val messages = LogCapture.messages("org.apache.spark.sql.rangejoin") {
      executedPlan(l.join(r, expr("l.k = r.k and l.t * r.t <= 10")))
    }
    val message = only(messages.filter(_.contains("left to Spark's own strategies")))
    assert(message.contains("made of columns of both sides"))
  }
}
