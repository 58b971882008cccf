// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.best.RankMatchesExec
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

import org.scalatest.tagobjects.Slow

/** When keys are split, within which plans, and what is said where they are not. */
class SkewPlansSuite extends SkewTest {

  private val Band = "l.k = r.k AND r.p BETWEEN l.p - 20 AND l.p + 20"

  /** Sixteen tasks, and no partition too small to be looked at. */
  private val BySize: Settings = Seq(
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
    SQLConf.SHUFFLE_PARTITIONS.key -> "16",
    SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM.key -> "16",
    SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE.key -> "1b",
    InternalConf.SkewThreshold.key -> "1b"
  )

  /** Tables `l` and `r` with a key and a point. */
  private def views(key: String, rows: Int = 4000, point: String = "pmod(hash(id, 1), 40000)") =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5)) {
      spark.range(1, rows + 1L, 1, 4)
        .selectExpr("id", s"int($key) AS k", s"${point.replace("1)", s"$seed)")} AS p")
        .createOrReplaceTempView(name)
    }

  private val Skewed = "IF(id % 2 = 0, 0, id % 500)"

  private def sql(text: String): DataFrame = spark.sql(text)

  /** Runs a query under settings; it has the rows of stock Spark. */
  private def ran(text: String, settings: Settings = BySize): DataFrame = {
    val expected = rowsOfStock(sql(text))
    withConf(settings: _*) {
      val df = sql(text)
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(expected.nonEmpty)
      df
    }
  }

  private def formatted(df: DataFrame): String = executedPlan(df).treeString +
    execution(df).explainString(ExplainMode.fromString("formatted"))

  private def assertNotSplit(df: DataFrame, why: String): Unit = {
    assert(shuffles(df).isEmpty, executedPlan(df))
    assert(rangeJoins(df).nonEmpty)
    assert(formatted(df).contains(s"Skewed keys not split: "), formatted(df))
    assert(formatted(df).contains(why), formatted(df))
  }

  test("a skewed key is split over tasks, and the rest of the shuffle is left alone") {
    views(Skewed)
    val df = ran(s"SELECT l.id, r.id FROM l JOIN r ON $Band")
    val nodes = shuffles(df)
    assert(nodes.size == 2, executedPlan(df))
    assert(nodes.map(_.isOwner).toSet == Set(true, false))
    assert(nodes.forall(_.metrics("numSkewedKeys").value == 1))
    assert(nodes.forall(_.split.get.partitions == 1))
    // Half of 8,000 rows, which ought to be 500 a task.
    val buckets = nodes.head.metrics("numBuckets").value
    assert(buckets >= 5 && buckets <= 10, buckets)
    val largest = nodes.head.metrics("largestBucket").value
    assert(largest > 300 && largest < 900, largest)
    val copies = nodes.map(_.metrics("numCopies").value).sum
    assert(copies > 0 && copies < 100, copies)
    // What is read again is the one partition.
    val skewed = nodes.map(_.inputs.last)
    assert(skewed.size == 2 && skewed.forall(_.isInstanceOf[AQEShuffleReadExec]))
    val records = nodes.map(_.metrics("shuffleRecordsWritten").value).sum
    assert(records >= 4000 && records < 6000, records)
    assert(formatted(df).contains("SkewReshuffle owner"), formatted(df))
    assert(formatted(df).contains("1 keys in"), formatted(df))
    assert(formatted(df).contains("boundaries: quantiles of both sides"), formatted(df))
  }

  test("a skewed key is split under a ranking that is made in place") {
    views(Skewed)
    val df = ran(
      """SELECT id, p, rank FROM (
        |  SELECT l.id, r.p,
        |    row_number() OVER (PARTITION BY l.k, l.n ORDER BY r.p DESC) AS rank
        |  FROM (SELECT *, monotonically_increasing_id() AS n FROM l) l
        |  LEFT JOIN r ON l.k = r.k AND r.p BETWEEN l.p - 40 AND l.p)
        |WHERE rank <= 2""".stripMargin)
    assert(shuffles(df).size == 2, executedPlan(df))
    assert(nodes[RankMatchesExec](df).size == 1)
  }

  test("one key, and three, take as many tasks as there are", Slow) {
    for ((key, tasks) <- Seq("7" -> 8, "id % 3" -> 24)) {
      views(key)
      val df = ran(
        s"SELECT l.id, r.id FROM l JOIN r ON $Band",
        BySize ++ Seq(
          SQLConf.SHUFFLE_PARTITIONS.key -> s"$tasks",
          SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM.key -> s"$tasks")
      )
      val partitions = shuffles(df).head.split.get.plan.layout.numPartitions
      assert(partitions >= tasks && partitions <= tasks + 4, partitions)
    }
  }

  test("many keys, and little data, are left alone", Slow) {
    views("id % 500")
    assert(shuffles(ran(s"SELECT l.id, r.id FROM l JOIN r ON $Band")).isEmpty)
    views(Skewed)
    val text = s"SELECT l.id, r.id FROM l JOIN r ON $Band"
    assert(shuffles(ran(text, Nil)).isEmpty)
    // With two tasks one of them may as well do it all.
    val two = SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM.key -> "2"
    assert(shuffles(ran(text, BySize :+ two)).isEmpty)
    assert(shuffles(ran(text, BySize :+ (InternalConf.SkewThreshold.key -> "1g"))).isEmpty)
    assert(shuffles(ran(text, BySize :+ (RangeJoinConf.Skew.key -> "false"))).isEmpty)
  }

  test("by default a key of 20 MB is split where there are many tasks to take it over", Slow) {
    val payload = "array_join(transform(sequence(1, 160), i -> sha2(concat(id, '-', i), 512)), '')"
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5)) {
      spark.range(500).selectExpr(
        "id",
        "7 AS k",
        s"pmod(hash(id, $seed), 40000) AS p",
        s"$payload AS s")
        .createOrReplaceTempView(name)
    }
    for ((tasks, isSplit) <- Seq(4 -> false, 32 -> true)) {
      val df = ran(
        s"SELECT l.id, r.id, hash(l.s, r.s) FROM l JOIN r ON $Band",
        Seq(
          SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
          SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
          SQLConf.SHUFFLE_PARTITIONS.key -> "32",
          SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM.key -> tasks.toString
        )
      )
      assert(rangeJoins(df).nonEmpty && shuffles(df).nonEmpty == isSplit, executedPlan(df))
    }
  }

  test("where rows have to stay together by key, nothing is split, and EXPLAIN says so", Slow) {
    views(Skewed)
    val byKey = "an operator above the join needs the rows of a key in one task"
    assertNotSplit(ran(s"SELECT l.k, count(*) FROM l JOIN r ON $Band GROUP BY l.k"), byKey)
    assertNotSplit(
      ran(s"""SELECT l.id, r.id, m.n FROM l JOIN r ON $Band
             |LEFT JOIN (SELECT k, count(*) AS n FROM l GROUP BY k) m ON m.k = l.k""".stripMargin),
      byKey
    )
    // Behind another shuffle it does not matter.
    assert(shuffles(
      ran(s"SELECT l.p, count(*) FROM l JOIN r ON $Band GROUP BY l.p")).size == 2)
    assertNotSplit(
      ran(s"SELECT l.id, r.id FROM l FULL JOIN r ON $Band"),
      "a FULL OUTER join keeps the rows of both sides")
    views(Skewed, 400, "int(id / 1000000)")
    assertNotSplit(
      ran(s"SELECT l.id, r.id FROM l JOIN r ON $Band"),
      "the range cannot split the keys")
  }

  test("a repartition that the join has made superfluous is not undone") {
    views(Skewed)
    val text = s"SELECT l.id, l.k FROM l LEFT SEMI JOIN r ON $Band"
    val expected = rowsOfStock(sql(text))
    withConf(BySize: _*) {
      val df = sql(text).repartition(8, org.apache.spark.sql.functions.col("k"))
      assertSameRows(rows(df), expected, "")
      val parts = df.selectExpr("k", "spark_partition_id() AS n").distinct().collect()
      assert(parts.map(_.get(0)).distinct.length == parts.length)
    }
  }

  test(
    "where the first rows are asked for, skewed joins are not to be handled, or nothing is adaptive",
    Slow) {
    views(Skewed)
    val text = s"SELECT l.id, r.id AS other FROM l JOIN r ON $Band"
    withConf(BySize: _*) {
      val first = sql(s"$text LIMIT 5")
      assert(first.collect().length == 5)
      assert(shuffles(first).isEmpty && rangeJoins(first).nonEmpty, executedPlan(first))
    }
    val whole = ran(text, BySize :+ (SQLConf.SKEW_JOIN_ENABLED.key -> "false"))
    assert(shuffles(whole).isEmpty && rangeJoins(whole).nonEmpty, executedPlan(whole))
    val static = ran(text, BySize :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false"))
    assert(shuffles(static).isEmpty && rangeJoins(static).nonEmpty, executedPlan(static))
    // A limit of what needs all rows of the join.
    val count =
      ran(s"SELECT other, count(*) AS n FROM ($text) GROUP BY other ORDER BY n, other LIMIT 5")
    assert(shuffles(count).size == 2, executedPlan(count))
  }

  test("a key or a bound with a subquery, which has no result yet") {
    views(Skewed)
    for (condition <- Seq(
        "l.k = r.k AND r.p BETWEEN l.p AND l.p + (SELECT max(id) FROM range(7))",
        "l.k + (SELECT max(id) FROM range(7)) = r.k + 6 AND r.p BETWEEN l.p AND l.p + 7"
      )) {
      val df = ran(s"SELECT l.id, r.id FROM l LEFT JOIN r ON $condition")
      assertNotSplit(df, "has a subquery")
    }
  }

  test("an exchange above a join that is split is used again", Slow) {
    views(Skewed)
    val df = ran(
      s"""WITH x AS (SELECT l.p, count(*) AS n FROM l JOIN r ON $Band GROUP BY l.p)
         |SELECT a.p, b.n FROM x a JOIN x b ON a.p = b.p""".stripMargin)
    assert(shuffles(df).nonEmpty, executedPlan(df))
    assert(collect(executedPlan(df)) { case e: ReusedExchangeExec => e }.nonEmpty, executedPlan(df))
  }

  testOfCases(
    "what adaptive execution splits as skewed is split by keys where a part is still far too large",
    3)(BucketTypes) { joinTypes =>
    views(Skewed)
    val splitBySpark = Seq(
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD.key -> "1",
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_FACTOR.key -> "1.5",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "3000"
    )
    for (joinType <- joinTypes) {
      val text = joinType match {
        case Existence =>
          s"SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $Band) OR l.p < 9"
        case LeftSemi | LeftAnti => s"SELECT l.id FROM l $joinType JOIN r ON $Band"
        case _                   => s"SELECT l.id, r.id FROM l $joinType JOIN r ON $Band"
      }
      val before = ran(text, BySize ++ splitBySpark :+ (RangeJoinConf.Skew.key -> "false"))
      // Spark knows no way to do so where the join is an EXISTS.
      assert(rangeJoins(before).exists(_.isSkewJoin) == (joinType != Existence))
      val df = ran(text, BySize ++ splitBySpark)
      // Of an inner join both sides are split; of others each part is joined with all of the other side,
      // which has fewer columns where its rows are only looked for.
      val isSplit = Seq(LeftOuter, RightOuter, Existence).contains(joinType)
      assert(shuffles(df).size == (if (isSplit) 2 else 0), s"$joinType\n${executedPlan(df)}")
    }
  }

  test("with partitions coalesced, and without", Slow) {
    views("IF(id % 2 = 0, 0, id % 7)")
    for (coalesced <- Seq("true", "false")) {
      val df = ran(
        s"SELECT l.id, r.id FROM l LEFT JOIN r ON $Band",
        BySize ++ Seq(
          SQLConf.SHUFFLE_PARTITIONS.key -> "40",
          SQLConf.COALESCE_PARTITIONS_ENABLED.key -> coalesced)
      )
      assert(shuffles(df).size == 2, executedPlan(df))
      assert(shuffles(df).forall(_.children.size == 2))
    }
  }

  test("self joins, unions, joins of joins, and subqueries", Slow) {
    views(Skewed, 1000)
    val self =
      "SELECT l.id, r.id FROM l JOIN l r ON l.k = r.k AND r.p BETWEEN l.p - 90 AND l.p + 90"
    // The two sides are one exchange, where exchanges are used again.
    for (reuse <- Seq("true", "false")) {
      val df = ran(self, BySize :+ (SQLConf.EXCHANGE_REUSE_ENABLED.key -> reuse))
      assert(shuffles(df).size == 2, executedPlan(df))
      assert(collect(executedPlan(df)) { case r: ReusedExchangeExec => r }.nonEmpty ==
        (reuse == "true"))
    }
    assert(shuffles(ran(s"$self UNION ALL $self")).size >= 2)
    val joined = ran(
      s"""SELECT x.a, x.b, m.id FROM (SELECT l.id AS a, r.id AS b, l.p AS p FROM l JOIN r ON $Band) x
         |JOIN l m ON m.id % 2 = x.a % 2 AND m.p BETWEEN x.p AND x.p + 9""".stripMargin)
    assert(shuffles(joined).size == 4, executedPlan(joined))
    val exists = ran(s"SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE $Band)")
    assert(shuffles(exists).size == 2, executedPlan(exists))
    val aggregates = ran(
      """SELECT l.p, l.n, r.id FROM (SELECT k + 0 AS k, p, count(*) AS n FROM l GROUP BY k + 0, p) l
        |JOIN r ON l.k = r.k AND l.p BETWEEN r.p - 90 AND r.p + 90""".stripMargin)
    assert(rangeJoins(aggregates).nonEmpty)
  }

  test("cached, and executed again") {
    views(Skewed, 1000)
    val text = s"SELECT l.id, r.id FROM l JOIN r ON $Band"
    val expected = rowsOfStock(sql(text))
    withConf(BySize: _*) {
      val df = sql(text)
      for (_ <- 1 to 2) assertSameRows(rows(df), expected, "executed again")
      assert(shuffles(df).size == 2)
      df.cache()
      try for (_ <- 1 to 2) assertSameRows(rows(df.where("1 = 1")), expected, "of the cache")
      finally df.unpersist()
    }
  }
}
