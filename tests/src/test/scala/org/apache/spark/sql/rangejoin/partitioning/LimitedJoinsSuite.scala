// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.functions.{count, expr, lit}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.shuffled.ProductRangeJoinExec
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.sql.{DataFrame, Observation, Row}

import org.scalatest.tagobjects.Slow

/** Joins without keys of which a limit reads a few rows: they keep the tasks of stock Spark. */
class LimitedJoinsSuite extends SmallSidesTest {

  override protected def hasOneEngine: Boolean = true

  private val Dense = "r.p >= l.p"
  private val Adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED.key

  /** Runs a block with adaptive execution, and without. */
  private def eachMode(settings: (String, String)*)(block: => Unit): Unit =
    for (adaptive <- Seq("true", "false"))
      withConf(Sizes ++ settings :+ (Adaptive -> adaptive): _*)(block)

  /** By query: the views of a test stay the same. */
  private val stock = scala.collection.mutable.Map[String, Seq[String]]()

  /** Runs a query that a limit ends, and checks that its rows are some of all. */
  private def ran(query: String, most: Int): DataFrame = {
    val all = stock.getOrElseUpdate(query, rowsOfStock(sql(query)))
    val df = sql(s"$query LIMIT $most")
    for (_ <- 1 to 2) {
      val found = rows(df)
      assert(found.size == math.min(most, all.size), executedPlan(df))
      assert(found.diff(all).isEmpty, executedPlan(df))
    }
    df
  }

  private def of(from: String): String = s"SELECT l.id + 0, r.id, r.p FROM $from"

  private def products(df: DataFrame): Seq[ProductRangeJoinExec] = nodes[ProductRangeJoinExec](df)

  /** Whether partitions are joined with each other; if not, both sides are shuffled by buckets. */
  private def isProduct(df: DataFrame): Boolean = {
    assert(products(df).isEmpty == (bucketNodes(df).size == 2), executedPlan(df))
    assert(nodes[CartesianProductExec](df).isEmpty, executedPlan(df))
    products(df).nonEmpty
  }

  test("partitions are joined with each other, and nothing is shuffled, for the rows of a limit") {
    views(200)
    eachMode() {
      for ((from, shuffles) <- Seq(
          s"l JOIN r ON $Dense" -> 0,
          s"l JOIN (SELECT * FROM r WHERE g <> 3) r ON $Dense" -> 0,
          s"(SELECT * FROM l WHERE g < 4) l JOIN r ON $Band AND (l.g + r.g) % 3 <> 1" -> 0,
          s"(SELECT id, max(p) AS p FROM l GROUP BY id) l JOIN r ON $Dense" -> 1
        )) {
        val df = ran(of(from), 5)
        assert(isProduct(df) && nodes[ShuffleExchangeExec](df).size == shuffles, executedPlan(df))
        val report = only(JoinReports.of(executedPlan(df)))
        assert(report.advice.exists(_.contains("RANGE_JOIN")))
        assert(
          report.operator == "ProductRangeJoin" && report.reason.isEmpty && report.range.nonEmpty)
      }
    }
  }

  test("a task stops with the rows of the limit, and searches the range") {
    views(200)
    eachMode() {
      val first = ran(of(s"l JOIN r ON $Dense"), 5)
      assert(only(products(first)).metrics("numOutputRows").value <= 2 * 5)
      // In none of the pairs of partitions.
      val none = ran(of("l JOIN r ON r.p BETWEEN l.p + 5000 AND l.p + 5004"), 5)
      assert(isProduct(none) && only(products(none)).metrics("numCandidates").value == 0)
      // All rows there are, each once.
      val band = of(s"l JOIN r ON $Band")
      val all = ran(band, 10000)
      assertAsStock(all, sql(band))
      assert(isProduct(all))
    }
  }

  test("where there is no memory for an index its rows are sorted, and partitions may be empty") {
    views(200)
    eachMode(InternalConf.IndexLimit.key -> "1") {
      val df = ran(of(s"l JOIN r ON $Band"), 10000)
      assert(only(products(df)).metrics("sortedPartitions").value > 0)
    }
    eachMode() {
      for (from <-
          Seq("(SELECT * FROM l WHERE id = 7) l JOIN r", "l JOIN (SELECT * FROM r WHERE id < 0) r"))
        ran(of(s"$from ON $Dense"), 10000)
    }
  }

  test("a limit below other operators, in a subquery and in a write") {
    views(200)
    eachMode() {
      val limited = s"SELECT l.id, r.id AS b, r.p FROM l JOIN r ON $Dense LIMIT 7"
      def checked(query: String, expected: Row): Unit = {
        val df = sql(query)
        assert(df.collect().toSeq == Seq(expected) && products(df).nonEmpty, executedPlan(df))
      }
      checked(s"SELECT count(*), count(DISTINCT id, b) FROM ($limited)", Row(7L, 7L))
      checked(s"SELECT count(*) FROM ($limited) x LEFT JOIN r USING (id)", Row(7L))
      checked(s"SELECT count(*) FROM ($limited) WHERE p IS NOT NULL", Row(7L))
      checked(s"SELECT count(*) FROM (($limited) UNION ALL ($limited))", Row(14L))
      assert(sql(s"SELECT (SELECT count(*) FROM ($limited)) AS n").head() == Row(7L))
      assert(sql(s"SELECT count(*) FROM l WHERE EXISTS ($limited)").head().getLong(0) > 0)
      try {
        sql(limited).write.mode("overwrite").saveAsTable("limited")
        assert(spark.table("limited").count() == 7)
      } finally spark.sql("DROP TABLE IF EXISTS limited")
    }
  }

  test("what is above a limit", Slow) {
    views(200)
    eachMode() {
      val join = s"SELECT l.id, r.id AS b, l.p, r.p AS q FROM l JOIN r ON $Dense"
      val all = rowsOfStock(sql(join)).toSet
      def checked(query: String, most: Int): Unit = {
        val df = sql(query.format(join))
        val collected = rows(df)
        assert(collected.size == most && collected.forall(all) && isProduct(df))
      }
      checked("%s LIMIT 7", 7)
      checked("%s LIMIT 7 OFFSET 2", 7)
      checked("SELECT id, b, p, q FROM (SELECT *, rand() AS x FROM (%s)) LIMIT 4", 4)
      checked("SELECT id, b, p, least(q, q + x) AS q FROM (SELECT *, 3 AS x FROM (%s)) LIMIT 4", 4)
      val limited = sql(s"SELECT l.id, r.id AS b FROM l JOIN r ON $Dense LIMIT 6").cache()
      try assert(limited.count() == 6 && limited.distinct().count() == 6)
      finally limited.unpersist()
      assert(sql(s"SELECT l.id, r.id AS b FROM l JOIN r ON $Dense").head(3).length == 3)
    }
  }

  private val Preserving = Seq(
    s"SELECT l.id, l.p FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $Band)",
    s"SELECT l.id, l.p FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE $Band AND (r.g + l.g) % 2 = 0)",
    s"SELECT l.id, l.p FROM l LEFT SEMI JOIN r ON $Band",
    s"SELECT l.id, l.p FROM l LEFT ANTI JOIN r ON $Band",
    s"SELECT l.id, r.id FROM l LEFT JOIN r ON $Band",
    s"SELECT l.id, r.id FROM l RIGHT JOIN r ON $Band"
  )

  test("of other joins Spark's broadcast is kept, and indexed") {
    views(200)
    eachMode() {
      for (query <- Preserving) {
        val df = ran(query, 5)
        assert(
          nodes[BroadcastRangeJoinExec](df).size == 1 && nodes[ShuffleExchangeExec](df).isEmpty,
          executedPlan(df))
      }
    }
  }

  test("a side that is large is not broadcast for a limit") {
    views(200)
    // Of an RDD of unknown size.
    spark.createDataFrame(
      spark.table("r").rdd,
      spark.table("r").schema).createOrReplaceTempView("r")
    withConf(Sizes: _*) {
      val df = sql(s"SELECT l.id FROM l LEFT SEMI JOIN r ON $Band LIMIT 5")
      assert(plannedBuckets(df) == 2, executedPlan(df))
      assert(df.collect().length == 5)
    }
    views(200)
    eachMode(RangeJoinConf.Broadcast.key -> "false") {
      assert(bucketNodes(ran(s"SELECT l.id FROM l LEFT SEMI JOIN r ON $Band", 5)).size == 2)
    }
  }

  private def plannedBuckets(df: DataFrame): Int = nodes[RangeBucketExec](df).size

  test("what needs all rows, a large limit and a hint") {
    views(200)
    eachMode() {
      def isBucketed(query: String): Boolean = {
        val df = sql(query)
        assertAsStock(df, sql(query))
        !isProduct(df)
      }
      assert(isBucketed(s"SELECT count(*) FROM l JOIN r ON $Dense LIMIT 5"))
      assert(isBucketed(
        s"SELECT count(*) FROM (SELECT l.id, count(*) FROM l JOIN r ON $Dense GROUP BY l.id LIMIT 5)"))
      assert(isBucketed(s"SELECT l.id, r.id FROM l JOIN r ON $Dense ORDER BY 1, 2 LIMIT 5"))
      assert(isBucketed(s"${of(s"l JOIN r ON $Band")} LIMIT 10001"))
      val hinted = sql(s"SELECT /*+ RANGE_JOIN(r) */ l.id, r.id FROM l JOIN r ON $Dense LIMIT 5")
      assert(hinted.collect().length == 5 && !isProduct(hinted))
    }
    eachMode(RangeJoinConf.RangePartitioning.key -> "false") {
      val stock = ran(of(s"l JOIN r ON $Dense"), 5)
      assert(products(stock).isEmpty && nodes[CartesianProductExec](stock).size == 1)
    }
  }

  test("rows of RDDs, whose partitions are not looked at, and a hint for stock Spark's product") {
    views(200)
    val missing = spark.sparkContext.textFile("/no/such/file").map(Row(_))
    spark.createDataFrame(missing, StructType(Seq(StructField("s", StringType))))
      .createOrReplaceTempView("missing")
    for (adaptive <- Seq("true", "false")) withConf(Sizes :+ (Adaptive -> adaptive): _*) {
      val planned =
        sql("SELECT * FROM missing a JOIN missing b ON a.s >= b.s AND a.s <= concat(b.s, 'z')")
      assert(execution(planned).sparkPlan.children.nonEmpty)
      val hinted = sql(
        s"SELECT /*+ SHUFFLE_REPLICATE_NL(r) */ l.id, r.id FROM l JOIN r ON $Band LIMIT 6")
      assert(products(hinted).isEmpty && nodes[CartesianProductExec](hinted).size == 1)
    }
  }

  test("the objects of an RDD, with and without a limit") {
    views()
    val session = spark
    import session.implicits._
    eachMode() {
      val points = session.sparkContext.parallelize(Seq(3L, 40L, 700L), 2).toDS().toDF("v")
      assert(rows(points).size == 3 && points.limit(2).collect().length == 2)
      points.createOrReplaceTempView("points")
      ran("SELECT v, r.id FROM points JOIN r ON r.p BETWEEN v - 4 AND v + 4", 5)
    }
  }

  test("ranges with one end, where there is no memory for an index") {
    views(200)
    withConf(Sizes :+ (InternalConf.IndexLimit.key -> "0"): _*) {
      for (on <- Seq("r.p >= l.p", "r.p <= l.p", "r.p < l.p AND l.id <> r.id")) {
        val of = s"FROM l JOIN r ON $on"
        val all = rowsOfStock(sql(s"SELECT l.id, r.id $of")).toSet
        for (engine <- bothEngines) withConf(engine: _*) {
          val df = sql(s"SELECT l.id, r.id $of LIMIT 5")
          val found = rows(df)
          assert(isProduct(df), executedPlan(df))
          assert(found.distinct.size == 5 && found.forall(all), s"$on: $found")
        }
      }
    }
  }

  test("an observed side") {
    views(200)
    eachMode() {
      val seen = Observation()
      val observed = spark.table("l").observe(seen, count(lit(1)).as("n")).as("l")
      val joined = observed.join(spark.table("r").as("r"), expr(Dense)).limit(5)
      assert(joined.collect().length == 5 && seen.get("n").asInstanceOf[Long] >= 1)
    }
  }

  test("an error of a row is that of the query") {
    views(200)
    eachMode(SQLConf.ANSI_ENABLED.key -> "true") {
      val query = s"SELECT l.id, r.id FROM l JOIN (SELECT * FROM r WHERE 1 / (id - 1) < 2) r " +
        s"ON $Dense LIMIT 5"
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        assert(intercept[Exception](sql(query).collect()).toString.contains("DIVIDE_BY_ZERO"))
      }
    }
  }
}
