// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.index.RangeIndexMode
import org.apache.spark.sql.rangejoin.{LogCapture, RangeJoinTest}

import org.scalatest.tagobjects.Slow

/** Which broadcast joins become range joins, and what of Spark's planning goes on around them. */
class BroadcastPlanningSuite extends BroadcastTables {

  override protected def hasOneEngine: Boolean = true

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
    test(
      s"every join type and build side of stock's broadcast join, $name",
      slowIf(on == keyless): _*) {
      withConf(Threshold -> "-1") {
        for ((joinType, logical, side) <- hinted) {
          def df = broadcast(side, on, joinType)
          // Without keys every row has a match.
          assert(checkAgainstStock(df, engines = nextEngine) > 0 || logical == LeftAnti)
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
      InternalConf.LinearScanThreshold.key -> "0"
    ) {
      for (on <- Seq(band, keyless); joinType <- Seq("inner", "left", "left_anti")) {
        checkAgainstStock(l.join(r, on, joinType), engines = Seq(Nil))
      }
    }
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

  test("a flag that is switched between planning and running does not matter", Slow) {
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

  test("NOT IN is untouched") {
    l.createOrReplaceTempView("l")
    r.createOrReplaceTempView("r")
    checkStock(spark.sql("SELECT id FROM l WHERE t NOT IN (SELECT t FROM r WHERE id > 100)"))
    withConf(adaptive(false)) {
      val df = spark.sql("SELECT id FROM l WHERE t NOT IN (SELECT t FROM r WHERE id > 100)")
      assert(only(nodes[BroadcastHashJoinExec](df)).isNullAwareAntiJoin)
    }
  }

  test("a join without a range stays stock", Slow) {
    checkStock(l.join(r, expr("l.k = r.k")))
    checkStock(l.join(r, expr("l.k = r.k and l.t <> r.t")))
    checkStock(l.join(r, expr("l.t * r.t < 10")))
    checkStock(l.join(r, expr("not l.t between r.t and r.t + 5")))
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
      val stage =
        only(stages.filter(s => fused(s.child).exists(_.isInstanceOf[BroadcastRangeJoinExec])))
      assert(fused(stage.child).exists(_.isInstanceOf[RangeExec]), executedPlan(df))
      assert(fused(stage.child).head.isInstanceOf[ProjectExec], executedPlan(df))
    }
    checkAgainstStock(l.join(r, band).selectExpr("l.id + r.id AS n").where("n % 2 = 0"))
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

  test("a broadcast is not reused for a sum of the same terms in another order") {
    // Doubles are rounded after each term.
    spark.sql(
      "SELECT id DIV 100 AS k, 1e16D + id AS a, id + 1D AS b, -1e16D - id AS c FROM range(40)")
      .createOrReplaceTempView("terms")
    spark.sql(
      "SELECT id DIV 100 AS k, id / 2D AS x FROM range(60)").createOrReplaceTempView("points")
    def one(sum: String) = spark.sql(
      s"SELECT /*+ BROADCAST(r) */ '$sum', l.x FROM points l JOIN terms r ON l.k = r.k AND l.x >= $sum")
    withAdaptive { on =>
      def both = one("r.a + r.b + r.c").union(one("r.a + r.c + r.b"))
      assertSameRows(rows(both), expected(both), s"$on")
      assert(broadcastJoins(both).size == 2)
      assert(expected(one("r.a + r.b + r.c")).size != expected(one("r.a + r.c + r.b")).size)
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

  // ---------------------------------------------------------------- limits

  private def message(df: => DataFrame): String = {
    causes(intercept[Throwable](df.collect())).map(_.getMessage).mkString("; ")
  }

  private val Largest = "spark.sql.maxBroadcastTableSize"

  // Before there was a setting the limit was 8 GiB.
  testWhere(
    SQLConf.containsConfigKey(Largest))("a broadcast that is too large fails as with stock Spark") {
    withAdaptive { on =>
      withConf(Largest -> "100") {
        val stock = withConf(Flag -> "false")(message(l.join(r, band)))
        assert(message(l.join(r, band)).contains("larger than 100"), s"$on $stock")
        assert(stock.contains("larger than 100"), stock)
      }
    }
  }

  test("a broadcast that takes too long fails as with stock Spark") {
    withAdaptive { on =>
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
        execution(df).explainString(mode).replaceAll("#\\d+L?", "")
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
          "Broadcast side: right",
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
