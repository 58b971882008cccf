// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.hint

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.analysis.HintErrorLogger
import org.apache.spark.sql.catalyst.plans.logical.{
  BROADCAST,
  HintInfo,
  JoinHint,
  NO_BROADCAST_AND_REPLICATION,
  SHUFFLE_HASH,
  SHUFFLE_MERGE
}
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.{LogCapture, RangeJoinTest}

import org.scalatest.BeforeAndAfterAll

/** `RANGE_JOIN`: what it names, what it asks for, and what is said where it cannot be followed. */
class RangeJoinHintSuite extends RangeJoinTest with BeforeAndAfterAll {

  /** In two parts, so that joins have something to shuffle. */
  override def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("l", "r", "s"))
      spark.sql("SELECT id, cast(id % 4 AS int) AS k, cast(id AS int) AS y FROM range(0, 40, 1, 2)")
        .createOrReplaceTempView(name)
  }

  private val band = "l.k = r.k AND r.y BETWEEN l.y - 5 AND l.y + 5"
  private val both = s"FROM l JOIN r ON $band"

  private def warnings(block: => Unit): Seq[String] =
    LogCapture.messages(HintErrorLogger.getClass.getName.stripSuffix("$"))(block)

  /** Checks that a query is one range join with the flag off, without a warning, and its rows. */
  private def checkHinted(hinted: => DataFrame, stock: => DataFrame): Unit = {
    withConf(Flag -> "false") {
      assert(plannedJoins(stock) == 0)
      val expected = rowsOfStock(stock)
      assert(expected.nonEmpty)
      assert(warnings(checkRangeJoins(hinted, expected, joins = 1, nextEngine)) == Nil)
    }
  }

  private def checkHinted(sql: String): Unit = checkHinted(spark.sql(sql), spark.sql(bare(sql)))

  private def bare(sql: String): String = sql.replaceAll("/\\*\\+.*?\\*/", "")

  /** Checks that a hint is not followed, and warned of in these words only; the rows are stock's. */
  private def checkRefused(sql: String, words: String*): Unit = {
    withConf(Flag -> "false") {
      val said = warnings {
        val df = spark.sql(sql)
        assert(plannedJoins(df) == 0)
        assert(rows(df) == rowsOfStock(spark.sql(bare(sql))))
      }
      assert(
        said.size == words.size && said.zip(words).forall { case (s, w) => s.contains(w) },
        said)
    }
  }

  test("the hint asks for a range join where the flag is off, in all its forms") {
    for (hint <- Seq(
        "RANGE_JOIN(l, 10)",
        "range_join(r, 10)",
        "RANGE_JOIN(R, 0.5)",
        "RANGE_JOIN(r, 1e-3D)",
        "RANGE_JOIN('r', 10)",
        "RANGE_JOIN(l, r, 10)",
        "RANGE_JOIN(l, 10, r, 2.5)",
        "RANGE_JOIN(l, 10), RANGE_JOIN(r, 5)",
        "RANGE_JOIN(r)"
      )) {
      checkHinted(s"SELECT /*+ $hint */ * $both")
    }
  }

  test("the hint names an alias, a subquery or a common table expression") {
    checkHinted("SELECT /*+ RANGE_JOIN(a, 10) */ * FROM l a JOIN r b ON a.k = b.k AND a.y < b.y")
    checkHinted("SELECT /*+ RANGE_JOIN(q, 10) */ * FROM l JOIN (SELECT k, y + 1 AS y FROM r " +
      "WHERE id > 3) q ON l.k = q.k AND q.y > l.y")
    checkHinted("WITH q AS (SELECT k, y + 1 AS y FROM r) SELECT /*+ RANGE_JOIN(q, 10) */ * " +
      "FROM l JOIN q ON l.k = q.k AND q.y > l.y")
    checkHinted("SELECT * FROM (SELECT /*+ RANGE_JOIN(r, 10) */ l.id " + both + ") WHERE id > 7")
  }

  test("the hint names a table by the end of its full name") {
    spark.sql("CREATE OR REPLACE TEMP VIEW other AS SELECT * FROM r")
    spark.sql("DROP TABLE IF EXISTS hinted")
    spark.sql("CREATE TABLE hinted USING parquet AS SELECT * FROM r")
    try for (name <- Seq("hinted", "default.hinted", "spark_catalog.default.hinted")) {
        checkHinted(s"SELECT /*+ RANGE_JOIN($name, 10) */ * FROM l " +
          s"JOIN spark_catalog.default.hinted ON l.k = hinted.k AND l.y < hinted.y")
      }
    finally spark.sql("DROP TABLE hinted")
  }

  test("the hint is given to a DataFrame, on either side") {
    def l = spark.table("l").alias("l")
    def r = spark.table("r").alias("r")
    def on = expr(band)
    def stock = l.join(r, on)
    checkHinted(l.hint("range_join", 10).join(r, on), stock)
    checkHinted(l.join(r.hint("range_join", 0.5), on), stock)
    checkHinted(l.join(r.hint("RANGE_JOIN", new java.math.BigDecimal("2.5")), on), stock)
    checkHinted(l.join(r, on).hint("range_join", "r", 10), stock)
    checkHinted(
      l.join(spark.table("r").hint("range_join", 10).where("y > 3").alias("r"), on),
      l
        .join(spark.table("r").where("y > 3").alias("r"), on))
  }

  test("the hint outlives the optimizer: other join types, filters, several joins, subqueries") {
    checkHinted("SELECT * FROM l WHERE EXISTS " +
      "(SELECT /*+ RANGE_JOIN(r, 10) */ 1 FROM r WHERE l.k = r.k AND r.y < l.y)")
    checkHinted("SELECT * FROM l WHERE NOT EXISTS " +
      "(SELECT /*+ RANGE_JOIN(r, 10) */ 1 FROM r WHERE l.k = r.k AND r.y < l.y)")
    // Becomes an inner join.
    checkHinted(s"SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l LEFT JOIN r ON $band WHERE r.y > 3")
    checkHinted(s"SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l, r WHERE $band AND l.id > r.id")
    val settings =
      Seq(SQLConf.CBO_ENABLED.key -> "true", SQLConf.JOIN_REORDER_ENABLED.key -> "true")
    for (reordered <- Seq(Nil, settings)) withConf(reordered: _*) {
      checkHinted("SELECT /*+ RANGE_JOIN(r, 10) */ l.id, r.id FROM s JOIN l ON s.id = l.id " +
        s"LEFT JOIN r ON $band")
      checkHinted("SELECT /*+ RANGE_JOIN(r, 10) */ l.id, r.id, s.id FROM l, r, s " +
        s"WHERE s.id = l.id AND s.k = r.k AND $band")
    }
  }

  test("the hint outlives the cache, where a side of the join is cached") {
    val cached = spark.table("r").where("y > 2")
    cached.cache()
    try checkHinted(
        spark.table("l").alias("l").join(cached.hint("range_join", 10).alias("r"), expr(band)),
        spark.table("l").alias("l").join(cached.alias("r"), expr(band)))
    finally cached.unpersist(blocking = true)
  }

  test("a hint in a view holds, below another hint on the view as well") {
    spark.sql("CREATE OR REPLACE TEMP VIEW v AS SELECT /*+ RANGE_JOIN(r, 10) */ * FROM r")
    val on = "ON l.k = v.k AND v.y > l.y"
    for (other <- Seq("", "/*+ BROADCAST(v) */", "/*+ MERGE(v) */", "/*+ BROADCAST(l) */")) {
      checkHinted(
        spark.sql(s"SELECT $other * FROM l JOIN v $on"),
        spark.sql(s"SELECT * FROM l JOIN r v $on"))
    }
  }

  test("beside another hint it takes the join that hint asks for, if it can be a range join") {
    for ((other, broadcasts) <- Seq(
        "BROADCAST(r)" -> 1,
        "BROADCAST(l)" -> 1,
        "MERGE(r)" -> 0,
        "MERGE(l)" -> 0)) withConf(RangeJoinConf.Broadcast.key -> "false") {
      val hints = Seq(s"RANGE_JOIN(r, 10), $other", s"$other, RANGE_JOIN(r, 10)")
      for (hint <- hints) {
        checkHinted(s"SELECT /*+ $hint */ * $both")
        withConf(Flag -> "false") {
          assert(broadcastJoins(spark.sql(s"SELECT /*+ $hint */ * $both")).size == broadcasts, hint)
        }
      }
    }
    val l = spark.table("l").alias("l")
    def r = spark.table("r").alias("r")
    checkHinted(
      l.join(r.hint("range_join", 10).hint("broadcast"), expr(band)),
      l.join(r, expr(band)))
    checkHinted(
      l.join(r.hint("broadcast").hint("range_join", 10), expr(band)),
      l.join(r, expr(band)))
  }

  test("it overrides a hint for a join that cannot be a range join, with Spark's warning") {
    for (other <- Seq("SHUFFLE_REPLICATE_NL(r)", "SHUFFLE_REPLICATE_NL(l)")) {
      val sql = s"SELECT /*+ RANGE_JOIN(r, 10), $other */ * $both"
      withConf(Flag -> "false") {
        val expected = rowsOfStock(spark.sql(bare(sql)))
        val said = warnings(checkRangeJoins(spark.sql(sql), expected, joins = 1, nextEngine))
        assert(only(said).contains("is overridden by another hint and will not take effect"))
      }
    }
  }

  test("beside a hint for a shuffled hash join it gives a range join of that kind") {
    for (other <- Seq("SHUFFLE_HASH(r)", "SHUFFLE_HASH(l)")) {
      val sql = s"SELECT /*+ RANGE_JOIN(r, 10), $other */ * $both"
      withConf(Flag -> "false", RangeJoinConf.Shuffled.key -> "false") {
        val expected = rowsOfStock(spark.sql(bare(sql)))
        assert(warnings(checkRangeJoins(spark.sql(sql), expected, joins = 1, nextEngine)).isEmpty)
        assert(shuffledJoins(spark.sql(sql)).size == 1)
      }
    }
  }

  test("it overrides what Spark chooses by settings and sizes") {
    val few = "(SELECT /*+ COALESCE(1) */ k, y FROM r LIMIT 3)"
    def check(sql: String, chosen: String, ours: String): Unit = {
      checkHinted(sql)
      withConf(Flag -> "false", SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
        assert(executedPlan(spark.sql(bare(sql))).toString.contains(chosen), chosen)
        assert(executedPlan(spark.sql(sql)).toString.contains(ours), ours)
      }
    }
    val hinted = "SELECT /*+ RANGE_JOIN(q, 10) */ * FROM l JOIN"
    withConf(
      "spark.sql.join.preferSortMergeJoin" -> "false",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "40") {
      check(s"$hinted $few q ON l.k = q.k AND l.y > q.y", "ShuffledHashJoin", "ShuffledRangeJoin")
    }
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB") {
      check(s"$hinted r q ON l.k = q.k AND l.y > q.y", "BroadcastHashJoin", "BroadcastRangeJoin")
      // The broadcast would be built before the subquery has a result.
      val bound = "q.y + (SELECT min(y) FROM s)"
      check(
        s"$hinted r q ON l.k = q.k AND l.y > $bound",
        "BroadcastHashJoin",
        "SortMergeRangeJoin")
    }
  }

  test("adaptive execution keeps the range join it was asked for") {
    withConf(
      Flag -> "false",
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      SQLConf.ADAPTIVE_MAX_SHUFFLE_HASH_JOIN_LOCAL_MAP_THRESHOLD.key -> "1g",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "1m"
    ) {
      val sql = s"SELECT /*+ RANGE_JOIN(r, 10) */ * $both"
      val df = spark.sql(sql)
      val stock = spark.sql(bare(sql))
      assert(rows(df) == rows(stock))
      assert(executedPlan(stock).toString.contains("ShuffledHashJoin"), "the threshold decides")
      assert(plannedJoins(df) == 1, executedPlan(df))
    }
  }

  test("a hint that names no relation is warned of, and the query runs as without it") {
    checkRefused(
      s"SELECT /*+ RANGE_JOIN(x, 10) */ * $both",
      "'x' specified in hint 'RANGE_JOIN(x, 10)'")
    checkRefused(s"SELECT /*+ RANGE_JOIN('a..b', 10) */ * $both", "relation '`a..b`'")
    checkRefused(
      s"SELECT /*+ RANGE_JOIN(10) */ * $both",
      "A join hint (range_join) is specified but it is not part of a join relation")
  }

  test("a bin size that is no positive number is warned of, and the query runs as without it") {
    for (size <- Seq(
        "0",
        "-5",
        "-0.5",
        "0.0D",
        "double('NaN')",
        "NULL",
        "INTERVAL 5 SECONDS",
        "true",
        "DATE'2026-01-01'",
        "array(1)")) {
      checkRefused(
        s"SELECT /*+ RANGE_JOIN(r, $size) */ * $both",
        "Hint (range_join) is not supported in the query: the bin size")
    }
  }

  test("a join that cannot be a range join is warned of once, with its reason") {
    for (adaptive <- Seq("true", "false")) {
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive) {
        checkRefused(
          "SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l JOIN r ON l.k = r.k",
          "Hint (range_join) is not supported in the query: the join has no condition beside")
        checkRefused(
          "SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l JOIN r ON l.k = r.k AND l.y <> r.y",
          "no part of the condition compares")
        checkRefused(
          "SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l JOIN r ON l.k = r.k AND (l.y < r.y OR l.id < r.id)",
          "the ranges joined by OR in")
      }
    }
  }

  test(
    "without a key the hint asks for a join by buckets, whatever the settings and other hints say") {
    val near = "r.y BETWEEN l.y - 1 AND l.y + 1"
    withConf(RangeJoinConf.RangePartitioning.key -> "false") {
      checkHinted(s"SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l JOIN r ON $near")
      checkHinted(s"SELECT /*+ RANGE_JOIN(r, 10) */ * FROM l LEFT JOIN r ON $near")
      val other = "SHUFFLE_REPLICATE_NL(l)"
      withConf(Flag -> "false") {
        val said = warnings {
          val df = spark.sql(s"SELECT /*+ RANGE_JOIN(r, 10), $other */ * FROM l JOIN r ON $near")
          assert(rangeJoins(df).size == 1, other)
          assertSameRows(rows(df), rows(spark.sql(s"SELECT * FROM l JOIN r ON $near")), other)
        }
        assert(said.size == 1 && said.head.contains("overridden"), said)
      }
    }
  }

  test("without a key a broadcast stays one, whichever side the join preserves") {
    val near = "r.y BETWEEN l.y - 1 AND l.y + 1"
    withConf(Flag -> "false") {
      for ((join, other) <-
          Seq("LEFT" -> ", BROADCAST(l)", "RIGHT" -> ", BROADCAST(r)", "FULL" -> "")) {
        val said = warnings {
          val df =
            spark.sql(s"SELECT /*+ RANGE_JOIN(r, 10)$other */ * FROM l $join JOIN r ON $near")
          val found = broadcastJoins(df)
          assert(found.size == 1, executedPlan(df))
          assertSameRows(rows(df), rows(spark.sql(s"SELECT * FROM l $join JOIN r ON $near")), join)
        }
        assert(said.isEmpty, said)
      }
    }
  }

  test("Databricks' setting of the bin size is accepted in silence") {
    assert(LogCapture.messages("org.apache.spark.sql") {
      spark.sql("SET spark.databricks.optimizer.rangeJoin.binSize=5").collect()
    }.filter(m => m.contains("rangeJoin.binSize") && !m.startsWith("Parsing command")) == Nil)
    assert(spark.conf.get("spark.databricks.optimizer.rangeJoin.binSize") == "5")
    try assert(plannedJoins(spark.sql(s"SELECT * $both")) == 1)
    finally spark.conf.unset("spark.databricks.optimizer.rangeJoin.binSize")
  }

  test(
    "the note on a side is Spark's note and more: it is not equal to one that asks for nothing") {
    val range = new RangeJoinHint(None)
    assert(range != HintInfo() && HintInfo() != range && range == new RangeJoinHint(None))
    assert(range.copy(strategy = Some(BROADCAST)) == new RangeJoinHint(Some(BROADCAST)))
    assert(range.merge(HintInfo(Some(BROADCAST)), HintErrorLogger).toString ==
      "(range_join, strategy=broadcast)")
    val fixed = HintInfo(Some(NO_BROADCAST_AND_REPLICATION))
    assert(RangeJoinHint.asMerge(JoinHint(
      Some(fixed),
      Some(new RangeJoinHint(Some(SHUFFLE_HASH))))) ==
      JoinHint(Some(fixed), Some(new RangeJoinHint(Some(SHUFFLE_MERGE)))))
    assert(RangeJoinHint.in(JoinHint(Some(HintInfo(Some(BROADCAST))), None)).isEmpty)
  }

  test(
    "the single-pass analyzer leaves queries with hints to the other one, as it does with Spark's") {
    val analyzer = "spark.sql.analyzer.singlePassResolver"
    for (key <- Seq("enabledTentatively", "dualRunWithLegacy")) {
      withConf(s"$analyzer.$key" -> "true")(checkHinted(s"SELECT /*+ RANGE_JOIN(r, 10) */ * $both"))
    }
  }
}
