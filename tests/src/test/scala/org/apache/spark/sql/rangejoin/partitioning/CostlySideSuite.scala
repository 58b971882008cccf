// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.plan.DeferShuffle
import org.apache.spark.sql.{DataFrame, Row}

import org.scalatest.tagobjects.Slow

/** A side whose rows cost more to make than to write is made once. */
class CostlySideSuite extends SmallSidesTest {

  private val Interval = "r.p BETWEEN l.p AND l.p + l.g"

  private val Joins = Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")

  /** Runs a query with the flag on; how often it has called the function `costly`. */
  private def counted(query: => DataFrame): (DataFrame, Long) = {
    val count = spark.sparkContext.longAccumulator
    spark.udf.register("costly", udf { (id: Long) => count.add(1); id })
    val df = query
    df.collect()
    (df, count.value)
  }

  private def costly(name: String, filter: String = "costly(id) >= 0") =
    s"(SELECT * FROM $name WHERE $filter) $name"

  /** Exchanges that write the rows of a side once. */
  private def writes(df: DataFrame): Seq[ShuffleExchangeExec] =
    collectWithSubqueries(executedPlan(df)) {
      case exchange: ShuffleExchangeExec if DeferShuffle.isWriting(exchange) => exchange
    }.distinct

  private val Adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED.key

  /** An RDD of the rows of `r`, and how many of them have been made since. */
  private def source(name: String): () => Long = {
    val count = spark.sparkContext.longAccumulator
    val rows = spark.sparkContext.parallelize(1 to 500, 4).map { i =>
      count.add(1)
      Row(i.toLong, i % 6, i * 7919 % 1000)
    }
    spark.createDataFrame(rows, spark.table("r").schema).createOrReplaceTempView(name)
    () => count.value
  }

  /**
   * How Spark alone runs a query: with a side that is broadcast. Else a chain of joins without keys has a
   * task for each combination of the partitions of its tables, thousands of them, which makes their rows anew.
   */
  private val Stock = Seq(
    Flag -> "false",
    Adaptive -> "false",
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> Long.MaxValue.toString,
    SQLConf.SHUFFLE_PARTITIONS.key -> "1"
  )

  /** Of queries by their texts: views and functions give every test the same rows, under any settings. */
  private val expected = scala.collection.mutable.Map[String, Seq[String]]()

  /**
   * Compares with the rows that Spark alone finds.
   *
   * @param query the query, or one that has the same rows without the function `costly`
   */
  private def checkRows(df: DataFrame, query: String): Unit =
    assertSameRows(
      rows(df),
      expected.getOrElseUpdate(query, withConf(Stock: _*)(rows(sql(query)))),
      executedPlan(df).toString)

  testOfCases("a function that a user has written is called once for each row of its side", 4)(for {
    threshold <- Seq("-1", "1000")
    joined <- Joins
    (left, right, sides) <-
      Seq((costly("l"), "r", 1), ("l", costly("r"), 1), (costly("l"), costly("r"), 2))
  } yield (threshold, joined, left, right, sides)) { cases =>
    views()
    for ((threshold, joined, left, right, sides) <- cases)
      withConf(Sizes :+ (SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> threshold): _*) {
        val (df, calls) = counted(sql(s"SELECT * FROM $left $joined $right ON $Interval"))
        assert(bucketNodes(df).size == 2 && rangeJoins(df).size == 1, executedPlan(df))
        assert(writes(df).size == sides, executedPlan(df))
        assert(calls == 500 * sides, s"$left $joined $right")
        checkRows(df, s"SELECT * FROM l $joined r ON $Interval")
      }
  }

  test("a costly side that turns out small is broadcast, and made once") {
    views()
    for (joined <- Seq("JOIN", "LEFT JOIN", "LEFT ANTI JOIN")) withConf(Sizes: _*) {
      val query =
        s"SELECT * FROM l $joined ${costly("r", "costly(id) % 50 = 1")} ON $Interval"
      val (df, calls) = counted(sql(query))
      assert(collect(executedPlan(df)) { case join: BroadcastRangeJoinExec => join }.size == 1)
      assert(bucketNodes(df).isEmpty && calls == 500, executedPlan(df))
      checkRows(df, query)
    }
  }

  test("regular expressions, hashes and JSON are costly; comparisons and arithmetic are not") {
    views()
    withConf(Sizes: _*) {
      def query(filter: String) =
        s"SELECT * FROM l LEFT JOIN ${costly("r", filter)} ON $Interval"
      for {
        filter <- Seq(
          "string(id) RLIKE '[0-9]+'",
          "sha2(string(id), 256) <> ''",
          "get_json_object(string(id), '$.a') IS NULL",
          "exists(array(id, p), x -> x >= 0)")
      } {
        val df = sql(query(filter))
        checkRows(df, query(filter))
        assert(writes(df).size == 1 && bucketNodes(df).size == 2, executedPlan(df))
      }
      for (filter <- Seq("id % 50 <> 1", "string(id) LIKE '%1%' OR id > 0", "id + p > -1")) {
        val df = sql(query(filter))
        checkRows(df, query(filter))
        assert(writes(df).isEmpty && bucketNodes(df).size == 2, executedPlan(df))
      }
    }
  }

  test("the same costly side twice, one that is shuffled below, and a limit above") {
    views()
    withConf(Sizes: _*) {
      val twice =
        s"SELECT * FROM ${costly("l")} JOIN (SELECT id, p FROM l WHERE costly(id) >= 0) r ON $Interval"
      checkRows(counted(sql(twice))._1, twice)
      val grouped = s"""SELECT * FROM l LEFT JOIN
        (SELECT costly(id) AS id, max(p) AS p FROM r GROUP BY id) r ON $Interval"""
      val (df, calls) = counted(sql(grouped))
      checkRows(df, grouped)
      assert(calls == 500, executedPlan(df))
      def limited = sql(s"SELECT l.id FROM ${costly("l")} LEFT JOIN r ON $Interval LIMIT 3")
      assert(counted(limited)._1.collect().length == 3)
    }
  }

  test("a costly side with a subquery in its bounds") {
    views()
    withConf(Sizes: _*) {
      val query = s"SELECT l.id, r.id FROM ${costly("l")} JOIN r ON " +
        "r.p BETWEEN l.p + (SELECT min(id) FROM r) AND l.p + (SELECT max(g) FROM l)"
      val (df, calls) = counted(sql(query))
      assert(writes(df).size == 1 && bucketNodes(df).size == 2 && calls == 500, executedPlan(df))
      checkRows(df, query)
    }
  }

  test("rows of an RDD, aggregates, joins and windows are made once", Slow) {
    views()
    val sides = Seq(
      "SELECT id, p FROM source",
      "SELECT id, max(p) AS p FROM source GROUP BY id",
      "SELECT s.id, s.p FROM source s JOIN l ON s.id = l.id",
      "SELECT id, p FROM (SELECT *, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM source)",
      "SELECT id, p FROM source WHERE p >= (SELECT min(p) FROM l)"
    )
    for (side <- sides; joined <- Seq("JOIN", "LEFT JOIN"))
      withConf(Sizes: _*) {
        val query = s"SELECT l.id, r.p FROM l $joined ($side) r ON $Band"
        val made = source("source")
        val df = sql(query)
        df.collect()
        assert(bucketNodes(df).size == 2 && writes(df).size == 1, executedPlan(df))
        assert(made() == 500, executedPlan(df))
        checkRows(df, query)
      }
  }

  test("joins without keys in a chain make the rows of each once", Slow) {
    views()
    def chain(first: String) = (1 to 5).foldLeft(s"SELECT r0.id FROM $first r0") { (text, i) =>
      s"$text JOIN r r$i ON r$i.p BETWEEN r${i - 1}.p AND r${i - 1}.p + 1"
    }
    for (reuse <- Seq("true", "false"))
      withConf(Sizes ++ Seq(
        SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
        SQLConf.EXCHANGE_REUSE_ENABLED.key -> reuse): _*) {
        val (df, calls) = counted(sql(chain("(SELECT * FROM r WHERE costly(id) >= 0)")))
        assert(bucketNodes(df).size == 10 && writes(df).size == 5, executedPlan(df))
        assert(calls == 500, executedPlan(df))
        checkRows(df, chain("r"))
      }
  }

  test("equal sides are written once, and those that may differ are not taken for equal") {
    views()
    withConf(Sizes: _*) {
      val query = s"""SELECT * FROM ${costly("l")} JOIN
        (SELECT * FROM l WHERE costly(id) >= 0) r ON $Band"""
      val (df, calls) = counted(sql(query))
      assert(calls == 500 && bucketNodes(df).size == 2, executedPlan(df))
      checkRows(df, query)
      // Spark takes two exchanges of a function for equal, whether or not it is deterministic.
      val random = udf { (id: Long) => id }.asNondeterministic()
      def side(name: String) = spark.table("l").where(random(col("id")) >= 0).as(name)
      val other = side("l").join(side("r"), col("r.p").between(col("l.p"), col("l.p") + 5))
      other.collect()
      assert(writes(other).isEmpty && bucketNodes(other).size == 2, executedPlan(other))
    }
  }

  test("what is written waits for the size of a side that may be small") {
    views()
    withConf(Sizes: _*) {
      val query = s"""SELECT * FROM (SELECT * FROM l WHERE id % 50 = 1) l JOIN
        ${costly("r")} ON $Interval"""
      val (df, calls) = counted(sql(query))
      assert(collect(executedPlan(df)) { case join: BroadcastRangeJoinExec => join }.size == 1)
      assert(writes(df).isEmpty && calls == 500, executedPlan(df))
      checkRows(df, query)
    }
  }

  test("what is not written") {
    views()
    source("source")
    withConf(Sizes: _*) {
      def plan(text: String) = sql(text)
      // Only what the sample reads is made more than once.
      val ofOthers = s"SELECT * FROM l LEFT JOIN (SELECT p, costly(id) AS c FROM r) r ON $Band"
      val plain = s"SELECT * FROM l LEFT JOIN ${costly("r")} ON $Band"
      spark.udf.register("costly", udf { (id: Long) => id })
      assert(writes(plan(plain)).size == 1 && writes(plan(ofOthers)).isEmpty)
      for (off <- Seq(
          InternalConf.WriteOnce.key -> "false",
          InternalConf.RangePartitioningThreshold.key -> "1g",
          Adaptive -> "false",
          Buckets -> "1",
          Flag -> "false"))
        withConf(off)(assert(writes(plan(plain)).isEmpty, off))
      val cached = spark.table("source").cache()
      try {
        cached.createOrReplaceTempView("cached")
        assert(writes(plan(s"SELECT * FROM l LEFT JOIN cached r ON $Band")).isEmpty)
      } finally cached.unpersist()
    }
  }

  test(
    "a query whose side fails or is cancelled while it is written ends, and can be run again",
    Slow) {
    views()
    for (side <- Seq("l", "r"); isCancelled <- Seq(false, true))
      withConf(Sizes :+ (Buckets -> "5"): _*) {
        spark.udf.register("failing", (p: Long) => p)
        def query = sql(s"""SELECT l.id FROM
          (SELECT id, ${if (side == "l") "failing(p) AS p" else "p"} FROM l) l JOIN
          (SELECT ${if (side == "r") "failing(p) AS p" else "p"} FROM r) r ON $Band""")
        val expected = withConf(Stock: _*)(rows(query))
        spark.udf.register("failing", FailingFunction.function)
        FailingFunction.seconds = if (isCancelled) 30 else 0
        val df = query
        assert(writes(df).size == 1, executedPlan(df))
        val error =
          intercept[Exception](if (isCancelled) cancelled(rows(df)) else rows(df)).toString
        assert(error.contains(if (isCancelled) "cancelled as part of" else "not yet"), error)
        FailingFunction.seconds = -1
        assertSameRows(rows(query), expected, executedPlan(df).toString)
      }
  }

  test("what a side waits for is never taken for that side") {
    for ((name, seed) <- Seq("base_l" -> 3, "base_r" -> 5)) {
      val p = s"pmod(hash(id, $seed), 1000)"
      spark.range(1, 121, 1, 2).selectExpr(
        "id",
        s"IF(id % 17 = 0, NULL, $p) AS p",
        s"$p + IF(id % 13 = 0, 100, id % 5) AS e").createOrReplaceTempView(name)
    }
    spark.udf.register("slow", udf((p: Long) => p))
    val near = "b1.p BETWEEN a1.p - 2 AND a1.p + 2"
    val query =
      s"""SELECT count(*), sum(a3.id), sum(b3.p) FROM
         |  (SELECT DISTINCT a2.id, b2.p FROM
         |    (SELECT a1.id, b1.p FROM (SELECT id, bigint(rand(7) * 1000) AS p FROM base_l) a1
         |      JOIN base_r b1 ON $near) a2
         |    JOIN (SELECT b1.p, b1.e FROM base_l a1
         |      JOIN (SELECT id, slow(p) AS p, e FROM base_l) b1 ON $near) b2
         |    ON abs(a2.p - b2.p) <= 1) a3
         |  LEFT JOIN
         |  (SELECT DISTINCT a2.id, b2.p FROM base_l a2
         |    JOIN (SELECT b1.p FROM base_r a1
         |      JOIN (SELECT slow(p) AS p, e FROM base_l WHERE id < 80) b1
         |      ON a1.p BETWEEN b1.p AND b1.e) b2
         |    ON b2.p BETWEEN a2.p - 2 AND a2.p + 2) b3
         |  ON b3.p BETWEEN a3.p - 2 AND a3.p + 2""".stripMargin
    val expected = withConf(Stock: _*)(rows(spark.sql(query)))
    withConf(
      Adaptive -> "true",
      InternalConf.RangePartitioningThreshold.key -> "0",
      InternalConf.SkewThreshold.key -> "0",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "3000",
      SQLConf.SHUFFLE_PARTITIONS.key -> "3"
    )(assertSameRows(rows(spark.sql(query)), expected, query))
  }
}
