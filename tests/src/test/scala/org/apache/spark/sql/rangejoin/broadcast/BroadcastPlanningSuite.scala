/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.classic.Dataset
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.exec.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.index.RangeIndexMode
import org.apache.spark.sql.rangejoin.{LogCapture, RangeJoinConf, RangeJoinTest}

/** Which broadcast joins become range joins, and what of Spark's planning goes on around them. */
class BroadcastPlanningSuite extends Broadcasting {

  // Small groups as by default.
  override protected def settings: Settings = Seq(Threshold -> "10MB")

  private def table(rows: Int, seed: Int): DataFrame = spark.range(rows).select(
    col("id"),
    pmod(hash(col("id"), lit(seed)), lit(7)).as("k"),
    pmod(hash(col("id"), lit(seed + 1)), lit(100)).as("t")
  )

  private def l = table(200, 1).as("l")
  private def r = table(150, 2).as("r")
  private val within = "r.t between l.t - 2 and l.t + 2"
  private val band = expr(s"l.k = r.k and $within")
  private val keyless = expr(within)

  private def adaptive(on: Boolean): (String, String) =
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> on.toString

  private def withAdaptive(test: Boolean => Unit): Unit =
    for (on <- Seq(true, false)) withConf(adaptive(on))(test(on))

  private def nodes[T <: SparkPlan](df: DataFrame)(implicit
      tag: scala.reflect.ClassTag[T]): Seq[T] =
    collectWithSubqueries(executedPlan(df)) { case node: T => node }

  private def expected(df: => DataFrame): Seq[String] = withConf(Flag -> "false")(rows(df))

  /** Checks that a query is not planned as a range join and gives the rows of stock Spark. */
  private def checkStock(df: => DataFrame): Unit = withAdaptive { on =>
    assert(broadcastJoins(df).isEmpty && rangeJoins(df).isEmpty, executedPlan(df))
    assertSameRows(rows(df), expected(df), s"adaptive: $on")
  }

  private val hinted = Seq(
    ("inner", Inner, "l"),
    ("inner", Inner, "r"),
    ("left", LeftOuter, "r"),
    ("right", RightOuter, "l"),
    ("left_semi", LeftSemi, "r"),
    ("left_anti", LeftAnti, "r")
  )

  private def broadcast(side: String, on: org.apache.spark.sql.Column, name: String): DataFrame =
    if (side == "l") l.hint("broadcast").join(r, on, name)
    else l.join(r.hint("broadcast"), on, name)

  for ((name, on) <- Seq("with keys" -> band, "without keys" -> keyless)) {
    test(s"every join type and build side of stock's broadcast join, $name") {
      withConf(Threshold -> "-1") {
        for ((joinType, logical, side) <- hinted) {
          def df = broadcast(side, on, joinType)
          // Without keys every row has a match.
          assert(checkAgainstStock(df) > 0 || logical == LeftAnti)
          withConf(adaptive(false)) {
            val join = only(broadcastJoins(df))
            assert(join.joinType == logical)
            assert(join.leftKeys.isEmpty == (on == keyless))
            // Nothing but the broadcast: no shuffle, and no sort.
            assert(only(nodes[Exchange](df)).isInstanceOf[BroadcastExchangeExec])
            assert(nodes[SortExec](df).isEmpty)
          }
        }
      }
    }
  }

  test("generated expressions without whole-stage code generation") {
    withConf(
      SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> "false",
      SQLConf.CODEGEN_FACTORY_MODE.key -> "CODEGEN_ONLY",
      RangeJoinConf.SmallGroup.key -> "0"
    ) {
      for (on <- Seq(band, keyless); joinType <- Seq("inner", "left", "left_anti")) {
        checkAgainstStock(l.join(r, on, joinType), engines = Seq(Nil))
      }
    }
  }

  test("EXISTS under OR, with and without keys") {
    l.createOrReplaceTempView("l")
    r.createOrReplaceTempView("r")
    for (on <- Seq(s"l.k = r.k AND $within", within)) {
      checkAgainstStock(
        spark.sql(s"SELECT id FROM l WHERE id < 3 OR EXISTS (SELECT 1 FROM r WHERE $on)"))
    }
  }

  test("a range in one direction, and a point in an interval, without keys") {
    checkAgainstStock(l.join(r, expr("l.t < r.t - 90")))
    checkAgainstStock(l.join(r, expr("l.t >= r.t and l.id <= r.id and l.t <= r.t + r.k")))
  }

  test("the flags switch plans at any time in a session") {
    withAdaptive { _ =>
      for (on <- Seq(band, keyless)) {
        def df = l.join(r, on)
        assert(broadcastJoins(df).size == 1)
        for (flag <- Seq(Flag, RangeJoinConf.Broadcast.key)) withConf(flag -> "false") {
          assert(broadcastJoins(df).isEmpty)
          val stock = nodes[BroadcastHashJoinExec](df).size +
            nodes[BroadcastNestedLoopJoinExec](df).size
          assert(stock == 1)
        }
      }
    }
  }

  test("a flag that is switched between planning and running does not matter") {
    withAdaptive { _ =>
      for (on <- Seq(band, keyless)) {
        // A third join, so that adaptive execution plans again after the broadcast.
        def df = l.join(r, on).select("l.id", "l.k", "r.t").as("a")
          .join(table(60, 5).as("x").hint("merge"), expr("a.k = x.k and x.id < 9"))
        val wanted = expected(df)
        val planned = df
        assert(broadcastJoins(planned).size == 1)
        withConf(Flag -> "false")(assertSameRows(rows(planned), wanted, "switched off"))
        val stock = withConf(Flag -> "false") {
          val stock = df
          assert(broadcastJoins(stock).isEmpty)
          stock
        }
        assertSameRows(rows(stock), wanted, "switched on")
      }
    }
  }

  test("the side that is kept, or all of both, stays stock and says why") {
    val log = LogCapture.messages("org.apache.spark.sql.rangejoin") {
      withConf(Threshold -> "-1") {
        for ((joinType, side) <-
            Seq("left" -> "l", "right" -> "r", "full" -> "r", "left_semi" -> "l")) {
          checkStock(broadcast(side, keyless, joinType))
        }
      }
    }
    val reasons = log.filter(_.contains("rows of the broadcast side are kept"))
    assert(Seq("LEFT OUTER", "RIGHT OUTER", "FULL OUTER", "LEFT SEMI").forall(t =>
      reasons.exists(_.contains(t))))
  }

  test("NOT IN is untouched") {
    l.createOrReplaceTempView("l")
    r.createOrReplaceTempView("r")
    checkStock(spark.sql("SELECT id FROM l WHERE t NOT IN (SELECT t FROM r WHERE id > 100)"))
    withConf(adaptive(false)) {
      val df = spark.sql("SELECT id FROM l WHERE t NOT IN (SELECT t FROM r WHERE id > 100)")
      assert(only(nodes[BroadcastHashJoinExec](df)).isNullAwareAntiJoin)
    }
  }

  test("a join without a range stays stock") {
    checkStock(l.join(r, expr("l.k = r.k")))
    checkStock(l.join(r, expr("l.k = r.k and l.t <> r.t")))
    checkStock(l.join(r, expr("l.t + r.t < 10")))
    checkStock(l.limit(3).crossJoin(r.limit(4)))
  }

  test("a subquery in a bound of the broadcast side stays stock, in one of the streamed side not") {
    l.createOrReplaceTempView("l")
    r.createOrReplaceTempView("r")
    def query(on: String) = spark.sql(
      s"SELECT /*+ BROADCAST(r) */ l.id, r.id FROM l JOIN r ON l.k = r.k AND $on")
    val most = "(SELECT max(k) FROM l)"
    val messages = LogCapture.messages("org.apache.spark.sql.rangejoin") {
      checkStock(query(s"r.t - $most <= l.t AND l.t <= r.t"))
    }
    assert(messages.exists(_.contains("has a subquery")))
    checkAgainstStock(query(s"r.t <= l.t + $most AND l.t <= r.t"))
  }

  test("a hint decides which side is broadcast, and the index says it is one") {
    withConf(Threshold -> "-1", adaptive(false)) {
      for (side <- Seq("l", "r"); on <- Seq(band, keyless)) {
        val df = broadcast(side, on, "inner")
        val exchange = only(nodes[BroadcastExchangeExec](df))
        assert(exchange.mode.isInstanceOf[RangeIndexMode])
        val join = only(broadcastJoins(df))
        assert((if (side == "l") join.left else join.right).collect {
          case e: BroadcastExchangeExec => e
        }.nonEmpty)
      }
    }
  }

  // ---------------------------------------------------------------- around the join

  test("the streamed side keeps its partitioning and order") {
    withConf(adaptive(false)) {
      val sorted = table(200, 1).repartition(3, col("k")).sortWithinPartitions("k", "id").as("l")
      def df = sorted.join(r.hint("broadcast"), band, "left")
        .groupBy("l.k").agg(count("*"), max("l.id"))
      assert(broadcastJoins(df).size == 1)
      // The one of the repartition.
      assert(nodes[ShuffleExchangeExec](df).size == 1, executedPlan(df))
      assertSameRows(rows(df), expected(df), "aggregated")
    }
  }

  test("the join fuses with the scan below and the parents above") {
    withConf(adaptive(false)) {
      val df = l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0")
      val stages = executedPlan(df).collect { case s: WholeStageCodegenExec => s }
      def fused(plan: SparkPlan): Seq[SparkPlan] = plan match {
        case _: InputAdapter => Nil
        case other           => other +: other.children.flatMap(fused)
      }
      val stage =
        only(stages.filter(s => fused(s.child).exists(_.isInstanceOf[BroadcastRangeJoinExec])))
      assert(fused(stage.child).exists(_.isInstanceOf[RangeExec]), executedPlan(df))
      assert(fused(stage.child).head.isInstanceOf[ProjectExec], executedPlan(df))
    }
    checkAgainstStock(l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0"))
  }

  for (union <- Seq("true", "false")) {
    test(s"UNION over the join, union code generation $union") {
      withConf(SQLConf.WHOLESTAGE_UNION_CODEGEN_ENABLED.key -> union) {
        def one = l.join(r, band).select(col("l.id"), col("r.t"))
        checkAgainstStock(one.union(table(30, 5).select("id", "t")))
      }
    }
  }

  test("a broadcast is reused by the same join, and not by another one") {
    withAdaptive { on =>
      def one(on: org.apache.spark.sql.Column) =
        l.join(r.hint("broadcast"), on).select(col("l.id"), col("r.t"))
      val same = one(band).union(one(band).where("id > 7"))
      assertSameRows(rows(same), expected(one(band).union(one(band).where("id > 7"))), s"$on")
      assert(broadcastJoins(same).size == 2)
      assert(nodes[ReusedExchangeExec](same).size == 1, executedPlan(same))
      val wider = one(band).union(one(expr("l.k = r.k and r.t between l.t - 3 and l.t + 2")))
      // What is built of the rows is the same.
      rows(wider)
      assert(nodes[ReusedExchangeExec](wider).size == 1, executedPlan(wider))
      val other = expr("l.k = r.k and r.t + 1 between l.t - 2 and l.t + 2")
      val differing = one(band).union(one(other))
      assertSameRows(rows(differing), expected(one(band).union(one(other))), s"$on")
      assert(nodes[ReusedExchangeExec](differing).isEmpty)
    }
  }

  test("self joins") {
    table(100, 3).createOrReplaceTempView("events")
    for (keys <- Seq("a.k = b.k AND ", "")) {
      checkAgainstStock(spark.sql(
        s"""SELECT a.id, b.id FROM events a JOIN events b
           |ON ${keys}b.t > a.t AND b.t <= a.t + 10 AND a.id <> b.id""".stripMargin))
    }
  }

  test("range joins above range joins, of either kind") {
    val x = table(80, 4).as("x")
    def two = l.join(r, band).join(x, expr("r.k = x.k and abs(x.t - r.t) <= 1"))
    checkAgainstStock(two, joins = 2)
    def mixed = l.hint("merge").join(r, band).join(x, expr("abs(x.t - r.t) <= 1"))
    withAdaptive { on =>
      assert(rangeJoins(mixed).size == 1 && broadcastJoins(mixed).size == 1)
      assertSameRows(rows(mixed), expected(mixed), s"adaptive: $on")
    }
  }

  test("LIMIT over the join") {
    withAdaptive { _ =>
      for (on <- Seq(band, keyless); n <- Seq(0, 1, 7)) {
        assert(l.join(r, on).limit(n).collect().length == n)
      }
    }
  }

  // ---------------------------------------------------------------- adaptive execution

  test("adaptive execution turns a sort-merge range join into a broadcast range join") {
    withConf(
      adaptive(true),
      Threshold -> "-1",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
    ) {
      for (joinType <- Seq("inner", "left", "left_semi", "left_anti")) {
        val df = l.join(r, band, joinType)
        assert(rangeJoins(df).size == 1 && broadcastJoins(df).isEmpty)
        assertSameRows(rows(df), expected(l.join(r, band, joinType)), joinType)
        assert(rangeJoins(df).isEmpty && broadcastJoins(df).size == 1, executedPlan(df))
      }
    }
  }

  test("a join over a finished broadcast is planned again with the rest of the query") {
    withConf(
      adaptive(true),
      Threshold -> "-1",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
    ) {
      for (on <- Seq(band, keyless); joinType <- Seq("inner", "left", "left_semi")) {
        // The outer join is turned into a broadcast join once the inner broadcast has been planned.
        def df = l.join(r.hint("broadcast"), on, joinType).select("l.id", "l.k", "l.t").as("a")
          .join(table(90, 6).as("x"), expr("a.id = x.id"))
        val query = df
        assert(broadcastJoins(query).size == 1)
        assert(nodes[SortMergeJoinExec](query).size == 1)
        assertSameRows(rows(query), expected(df), joinType)
        assert(broadcastJoins(query).size == 1, executedPlan(query))
        assert(nodes[SortMergeJoinExec](query).isEmpty, executedPlan(query))
        assert(nodes[BroadcastHashJoinExec](query).size == 1, executedPlan(query))
      }
    }
  }

  test("what is joined below an unfinished range join is planned again") {
    withConf(
      adaptive(true),
      Threshold -> "-1",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
    ) {
      val most = "(SELECT max(k) FROM r)"
      r.createOrReplaceTempView("r")
      for (on <- Seq(band, keyless, expr(s"r.t <= l.t + $most AND l.t <= r.t"))) {
        // The sort-merge join becomes a broadcast join while the index is a stage already.
        def df = l.join(table(90, 6).as("x"), expr("l.id = x.id")).select("l.id", "l.k", "l.t")
          .as("l").join(r.hint("broadcast"), on)
        val query = df
        assert(broadcastJoins(query).size == 1 && nodes[SortMergeJoinExec](query).size == 1)
        assertSameRows(rows(query), expected(df), s"$on")
        assert(broadcastJoins(query).size == 1, executedPlan(query))
        assert(nodes[SortMergeJoinExec](query).isEmpty, executedPlan(query))
        assert(nodes[BroadcastHashJoinExec](query).size == 1, executedPlan(query))
      }
    }
  }

  test("a shuffled side is read where it was written") {
    withConf(
      adaptive(true),
      Threshold -> "-1",
      SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
    ) {
      for (joinType <- Seq("inner", "left", "left_semi")) {
        def df = l.join(r, band, joinType)
        def localReads(df: DataFrame) = nodes[AQEShuffleReadExec](df).count(_.isLocalRead)
        val (ours, stock) = (df, df)
        assertSameRows(rows(ours), expected(df), joinType)
        withConf(Flag -> "false")(rows(stock))
        assert(broadcastJoins(ours).size == 1)
        assert(localReads(ours) > 0 && localReads(ours) == localReads(stock))
      }
    }
  }

  test("keys of the streamed side are not evaluated for a side without rows") {
    withConf(SQLConf.ANSI_ENABLED.key -> "true") {
      val none = table(150, 2).where("id * 2 > 900").as("r").hint("broadcast")
      val raising = expr(s"l.id div (l.k - l.k) = r.k and $within")
      for (engine <- RangeJoinTest.Engines; joinType <- Seq("inner", "left_semi", "left_anti")) {
        withConf(engine: _*) {
          val df = l.join(none, raising, joinType)
          assert(broadcastJoins(df).size == 1)
          assertSameRows(rows(df), expected(l.join(none, raising, joinType)), joinType)
        }
      }
    }
  }

  test("an empty side") {
    for (on <- Seq(band, keyless); joinType <- Seq("inner", "left", "left_anti", "left_semi")) {
      checkAgainstStock(l.join(table(150, 2).where("id * 2 > 900").as("r"), on, joinType))
      checkAgainstStock(table(
        200,
        1).where("id * 2 > 900").as("l").join(r.hint("broadcast"), on, joinType))
    }
  }

  // ---------------------------------------------------------------- dynamic partition pruning

  test("a join whose hashed broadcast prunes partitions stays stock and says so") {
    spark.sql("DROP TABLE IF EXISTS parted")
    table(400, 1).withColumn("p", col("id") % 20).write.partitionBy("p").saveAsTable("parted")
    try {
      table(40, 2).createOrReplaceTempView("few")
      def query = spark.sql(
        """SELECT parted.id, few.id FROM parted JOIN few
          |ON parted.p = few.id AND few.t BETWEEN parted.t - 20 AND parted.t + 20
          |WHERE few.k = 3""".stripMargin)
      val log = LogCapture.messages("org.apache.spark.sql.rangejoin") {
        withAdaptive { on =>
          val df = query
          assert(broadcastJoins(df).isEmpty, executedPlan(df))
          assertSameRows(rows(df), expected(query), s"adaptive: $on")
          val filters = collectWithSubqueries(executedPlan(df)) { case p => p }.flatMap(
            _.expressions.flatMap(_.collect {
              case DynamicPruningExpression(in: InSubqueryExec) => in.plan
            }))
          assert(filters.exists(_.isInstanceOf[SubqueryBroadcastExec]), executedPlan(df))
        }
      }
      assert(log.exists(_.contains("dynamic partition pruning")))
      withConf(SQLConf.DYNAMIC_PARTITION_PRUNING_ENABLED.key -> "false")(checkAgainstStock(query))
      // Beside it, a join with a table that looks the same.
      table(30, 9).createOrReplaceTempView("others")
      def beside = spark.sql(
        """SELECT parted.id, few.t, others.t FROM parted JOIN few ON parted.p = few.id
          |JOIN others ON parted.id = others.id
          |  AND others.t BETWEEN parted.t - 20 AND parted.t + 20
          |WHERE few.k = 3""".stripMargin)
      withAdaptive { on =>
        val df = beside
        assert(broadcastJoins(df).size == 1, executedPlan(df))
        assertSameRows(rows(df), expected(beside), s"adaptive: $on")
      }
    } finally spark.sql("DROP TABLE IF EXISTS parted")
  }

  // ---------------------------------------------------------------- limits

  test("a broadcast that takes too long, or is too large, fails as with stock Spark") {
    def message(df: => DataFrame): String = {
      val error = intercept[Throwable](df.collect())
      Iterator.iterate(error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString("; ")
    }
    withAdaptive { on =>
      withConf(SQLConf.MAX_BROADCAST_TABLE_SIZE.key -> "100") {
        val stock = withConf(Flag -> "false")(message(l.join(r, band)))
        assert(message(l.join(r, band)).contains("larger than 100"), s"$on $stock")
        assert(stock.contains("larger than 100"), stock)
      }
      withConf(SQLConf.BROADCAST_TIMEOUT.key -> "1") {
        val slow = udf((k: Long) => { Thread.sleep(100); k })
        def df = l.join(
          r.select(col("id"), slow(col("k")).as("k"), col("t")).as("r").hint("broadcast"),
          band)
        if (!on) assert(message(df).contains("broadcastTimeout"))
      }
    }
  }

  // ---------------------------------------------------------------- what is shown

  test("EXPLAIN shows keys, range, residual and sides") {
    withConf(adaptive(false)) {
      def shown(df: DataFrame, mode: ExplainMode): String =
        df.asInstanceOf[Dataset[_]].queryExecution.explainString(mode).replaceAll("#\\d+L?", "")
      val keyed = l.join(r.hint("broadcast"), band && expr("l.id <> r.id"), "left")
      val line = "BroadcastRangeJoin [k], [k], LeftOuter, BuildRight, " +
        "range: (t >= (t - 2)) AND (t <= (t + 2)), residual: NOT (id = id)"
      assert(shown(keyed, SimpleMode).contains(line), shown(keyed, SimpleMode))
      val plain = l.join(r.hint("broadcast"), keyless)
      val short = "BroadcastRangeJoin Inner, BuildRight, range: (t >= (t - 2)) AND (t <= (t + 2))"
      assert(shown(plain, SimpleMode).contains(short), shown(plain, SimpleMode))
      val formatted = shown(keyed, FormattedMode)
      for (field <- Seq(
          "Left keys [1]: [k]",
          "Join type: LeftOuter",
          "Streamed side: left",
          "Indexed side: right",
          "Residual: NOT (id = id)")) {
        assert(formatted.contains(field), formatted)
      }
      assert(only(broadcastJoins(keyed)).canonicalized.toString.contains("BroadcastRangeJoin"))
    }
  }

  test("metrics say what was examined, and what the index took") {
    for (engine <- RangeJoinTest.Engines) withConf(engine: _*) {
      val df = l.join(r.hint("broadcast"), band && expr("l.id <> r.id"))
      val n = df.collect().length
      val sameId = withConf(Flag -> "false")(l.join(r, band && expr("l.id = r.id")).count())
      val metrics = only(broadcastJoins(df)).metrics.map { case (name, m) => name -> m.value }
      assert(metrics("numOutputRows") == n)
      assert(metrics("numCandidates") == n + sameId)
      assert(metrics("indexRows") == 150)
      assert(metrics("indexSize") > 150 * 40 && metrics("indexTime") > 0)
    }
  }
}
