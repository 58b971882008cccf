// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.{CartesianProductExec, ShuffledHashJoinExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, OneReader, OneTask, Settings}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.storage.StorageLevel

import org.scalatest.tagobjects.Slow

/** Joins by range buckets within plans, and those that stay what they are. */
class RangePartitioningPlansSuite extends RangePartitioningTest {

  private val Adaptive: Settings = Seq(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true")
  private val Band = "r.p BETWEEN l.p - 4 AND l.p + 4"

  /** Tables `l` and `r` of several partitions; `p` is a point, `s` to `e` an interval. */
  private def views(rows: Int = 300): Unit =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5)) {
      spark.range(1, rows + 1L, 1, 4).selectExpr(
        "id",
        "int(id % 6) AS g",
        s"pmod(hash(id, $seed), ${rows * 5}) AS p",
        s"pmod(hash(id, $seed), ${rows * 5}) AS s",
        s"pmod(hash(id, $seed), ${rows * 5}) + IF(id % 50 = 0, $rows, id % 7) AS e"
      ).createOrReplaceTempView(name)
    }

  private def sql(text: String): DataFrame = spark.sql(text)

  /** One engine, another one for the next query; reuse of exchanges with and without adaptive execution. */
  private def checkPlan(query: => DataFrame, joins: Int = 1): Unit = {
    var found = 0
    for (engine <- nextEngine.map(_.filterNot(Seq(OneTask, OneReader).contains))) {
      val reuse = Seq("true", "false", "false", "true")(Engines.indexOf(engine))
      found = checkBuckets(
        query,
        joins,
        counts = Seq(5),
        settings = engine :+ (SQLConf.EXCHANGE_REUSE_ENABLED.key -> reuse))
    }
    assert(found > 0)
  }

  test("over aggregates, whose stages run first", Slow) {
    views()
    checkPlan(sql(
      s"""SELECT * FROM (SELECT g, p, max(s) AS s, max(e) AS e FROM l GROUP BY g, p) l
         |JOIN (SELECT g, p, min(s) AS s, max(e) AS e, count(*) AS n FROM r GROUP BY g, p) r
         |ON $Overlap""".stripMargin))
    checkPlan(sql(s"""SELECT * FROM (SELECT DISTINCT p FROM l) l LEFT JOIN r ON $Band"""))
    checkPlan(
      sql(s"""SELECT * FROM l LEFT ANTI JOIN (SELECT DISTINCT p + 3 AS p FROM r) r ON $Band"""))
  }

  test("over joins with broadcast sides, whose columns the bounds do not need", Slow) {
    views()
    spark.range(6).selectExpr("int(id) AS g", "concat('name ', id) AS name")
      .createOrReplaceTempView("names")
    def named(side: String) = s"(SELECT /*+ BROADCAST(n) */ t.*, n.name FROM " +
      s"(SELECT DISTINCT * FROM $side) t JOIN names n ON t.g = n.g)"
    checkPlan(sql(s"SELECT * FROM ${named("l")} l JOIN ${named("r")} r ON $Overlap"))
    checkPlan(
      sql(s"""SELECT x.*, y.n FROM
             |(SELECT l.id AS a, r.g, l.s AS s, r.e AS e FROM l JOIN r ON $Overlap) x
             |JOIN (SELECT p, count(*) AS n FROM l GROUP BY p) y
             |ON y.p BETWEEN x.s AND x.e""".stripMargin),
      joins = 2
    )
  }

  test("Spark may make a shuffled hash join of it once both sides have run", Slow) {
    views()
    val settings = Adaptive ++ Seq(
      Buckets -> "5",
      SQLConf.ADAPTIVE_MAX_SHUFFLE_HASH_JOIN_LOCAL_MAP_THRESHOLD.key -> "1g",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "1m")
    for (joined <- Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN");
      shuffled <- Seq("true", "false"))
      withConf(settings :+ (RangeJoinConf.Shuffled.key -> shuffled): _*) {
        def query = sql(s"SELECT * FROM l $joined r ON $Band")
        val df = query
        assertAsStock(df, query)
        val plan = executedPlan(df)
        val ours = nodes[ShuffledRangeJoinExec](df).size + nodes[SortMergeRangeJoinExec](df).size
        val stock = nodes[ShuffledHashJoinExec](df).size
        assert(bucketNodes(df).size == 2 && ours + stock == 1, plan)
        if (shuffled == "true") assert(ours == 1, plan)
        else assert(nodes[ShuffledRangeJoinExec](df).isEmpty, plan)
      }
  }

  test("over aggregates whose lengths may differ when they are read again") {
    views()
    for (adaptive <- Seq("true", "false")) {
      withConf(Buckets -> "7", SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive) {
        val query = sql("""SELECT * FROM
          |(SELECT p, max(s) AS s, max(s) + rand() * 1000 AS e FROM l GROUP BY p) l
          |LEFT JOIN (SELECT DISTINCT double(p) AS p FROM r) r
          |ON r.p BETWEEN l.s AND l.e""".stripMargin)
        assert(bucketNodes(query).size == 2)
        val found = query.collect()
        assert(found.exists(!_.isNullAt(3)))
        assert(found.forall(row => row.isNullAt(3) || row.getDouble(3) <= row.getDouble(2)))
        def points(rows: Array[Row]) = rows.map(_.get(0)).toSet
        assert(points(found) == points(sql("SELECT DISTINCT p FROM l").collect()))
      }
    }
  }

  test("over an RDD whose rows are longer when they are read again, cached or not") {
    views()
    for (isCached <- Seq(false, true)) {
      RangePartitioningPlansSuite.readings.set(0)
      val longer = spark.createDataFrame(
        spark.sparkContext.parallelize(0 until 4, 4).flatMap { part =>
          // Of four partitions: the sample is one reading.
          val length = if (RangePartitioningPlansSuite.readings.getAndIncrement() < 4) 1 else 1400
          (0 until 75).map(i => Row(part, i * 19, i * 19 + length))
        },
        StructType.fromDDL("part int, s int, e int")
      )
      if (isCached) longer.persist(StorageLevel.MEMORY_ONLY)
      longer.createOrReplaceTempView("longer")
      withConf(
        Buckets -> "9",
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
        InternalConf.WriteOnce.key -> "false") {
        def query = sql("SELECT d.*, r.id FROM longer d LEFT JOIN r ON d.s <= r.e AND r.s <= d.e")
        val df = query
        assert(bucketNodes(df).size == 2, executedPlan(df))
        val found = rows(df)
        assert(RangePartitioningPlansSuite.readings.get == (if (isCached) 4 else 8))
        assertSameRows(found, rowsOfStock(query), executedPlan(df).toString)
      }
      longer.unpersist(blocking = true)
    }
  }

  test("over a window function, whose rows may differ when they are read again") {
    views()
    checkPlan(sql(
      s"""SELECT l.id, r.id FROM
         |(SELECT *, lead(s) OVER (PARTITION BY g ORDER BY s, id) AS next FROM l) l
         |LEFT JOIN r ON l.s <= r.p AND l.next > r.p""".stripMargin))
  }

  test("under an aggregate, a sort, a limit, and joins with keys", Slow) {
    views()
    checkPlan(sql(s"SELECT l.g, count(*), sum(r.id) FROM l JOIN r ON $Band GROUP BY l.g"))
    checkPlan(sql(s"SELECT l.id, r.id FROM l JOIN r ON $Band ORDER BY l.id, r.id LIMIT 20"))
    val below =
      sql(s"SELECT l.id FROM l JOIN r ON $Band JOIN (SELECT DISTINCT g FROM l) k ON k.g = l.g")
    withConf(Buckets -> "5")(assert(bucketNodes(below).size == 2))
    assertSameRows(
      withConf(Buckets -> "5")(rows(below)),
      rowsOfStock(sql(
        s"SELECT l.id FROM l JOIN r ON $Band JOIN (SELECT DISTINCT g FROM l) k ON k.g = l.g")),
      ""
    )
    withConf(
      Buckets -> "5")(assert(sql(s"SELECT * FROM l JOIN r ON $Overlap LIMIT 7").count() == 7))
  }

  test("a self join, a union of two, the same twice, and one within another", Slow) {
    views()
    checkPlan(sql(s"SELECT l.id, r.id FROM l JOIN l r ON $Overlap"))
    checkPlan(
      sql(
        s"SELECT l.id, r.id FROM l JOIN r ON $Band UNION ALL SELECT l.id, r.id FROM l JOIN r ON $Overlap"),
      joins = 2)
    checkPlan(
      sql(
        s"SELECT l.id, r.id FROM l JOIN r ON $Band UNION ALL SELECT l.id, r.id FROM l JOIN r ON $Band"),
      joins = 2)
    checkPlan(
      sql(s"""SELECT x.a, x.b, l.id FROM
             |(SELECT l.id AS a, r.id AS b, l.s AS s, r.e AS e FROM l JOIN r ON $Overlap) x
             |JOIN l ON l.p BETWEEN x.s AND x.e""".stripMargin),
      joins = 2
    )
  }

  test("EXISTS, NOT EXISTS, and a subquery in a bound", Slow) {
    views()
    checkPlan(sql(s"SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $Overlap)"))
    checkPlan(sql(s"SELECT * FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE $Band)"))
    checkPlan(sql(s"SELECT * FROM l WHERE g = 2 OR EXISTS (SELECT 1 FROM r WHERE $Band)"))
    checkPlan(
      sql("SELECT l.id, r.id FROM l JOIN r ON r.p BETWEEN l.s AND l.e + (SELECT max(g) FROM r)"))
  }

  test("cached, executed again, and read from files") {
    views()
    withConf(Buckets -> "6") {
      val expected =
        rowsOfStock(sql(s"SELECT l.id, r.id FROM l JOIN r ON $Overlap"))
      val df = sql(s"SELECT l.id, r.id FROM l JOIN r ON $Overlap")
      for (_ <- 1 to 2) assertSameRows(rows(df), expected, "executed again")
      df.cache()
      try for (_ <- 1 to 2) {
          assertSameRows(rows(df), expected, "cached")
          assertSameRows(rows(df.where("1 = 1")), expected, "of the cache")
        }
      finally df.unpersist()
    }
    val path = java.nio.file.Files.createTempDirectory("partitioned").toString
    for (name <- Seq("l", "r")) {
      spark.table(name).write.mode("overwrite").parquet(s"$path/$name")
      spark.read.parquet(s"$path/$name").createOrReplaceTempView(name)
    }
    checkPlan(sql(s"SELECT * FROM l JOIN r ON $Overlap"))
  }

  testOfCases("a side that turns out to be empty while the other has its buckets", 5)(
    for (joinType <- BucketTypes; slow <- Seq("l", "r")) yield (joinType, slow)) { cases =>
    views()
    for ((joinType, slow) <- cases) {
      def slowly(name: String) =
        if (name == slow)
          s"(SELECT p, max(id) AS id FROM $name GROUP BY p HAVING max(id) > 9999) $name"
        else name
      def query = sql(joinType match {
        case Existence =>
          s"SELECT l.id FROM ${slowly("l")} WHERE EXISTS (SELECT 1 FROM ${slowly("r")} WHERE $Band) OR l.p > 7"
        case LeftSemi | LeftAnti =>
          s"SELECT l.id, l.p FROM ${slowly("l")} $joinType JOIN ${slowly("r")} ON $Band"
        case _ => s"SELECT l.id, r.p FROM ${slowly("l")} $joinType JOIN ${slowly("r")} ON $Band"
      })
      checkBuckets(query, counts = Seq(4), settings = Adaptive)
      // Above it there is a union, which goes by the order of columns.
      checkBuckets(query.union(query), joins = 2, counts = Seq(4), settings = Adaptive)
    }
  }

  test("adaptive execution coalesces buckets, splits large ones, and reads what is left") {
    views(2000)
    def query = sql(
      s"SELECT l.id, r.id FROM l JOIN r ON r.p BETWEEN l.p - 400 AND l.p + 400 AND r.id % 50 = 0")
    val expected = rowsOfStock(query)
    val split = Seq(
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_THRESHOLD.key -> "1",
      SQLConf.SKEW_JOIN_SKEWED_PARTITION_FACTOR.key -> "0.1",
      SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES.key -> "2000"
    )
    withConf(Adaptive ++ split ++ Seq(Buckets -> "3"): _*) {
      val df = query
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(rangeJoins(df).exists(_.isSkewJoin), executedPlan(df))
    }
    withConf(Adaptive ++ Seq(Buckets -> "40", SQLConf.SHUFFLE_PARTITIONS.key -> "20"): _*) {
      val df = query
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(nodes[AQEShuffleReadExec](df).exists(_.hasCoalescedPartition), executedPlan(df))
    }
  }

  test("buckets of one join are not those of another") {
    views()
    val df = withConf(Buckets -> "5", SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      sql(s"SELECT l.id, r.id FROM l JOIN r ON $Band UNION ALL SELECT l.id, r.id FROM l JOIN r ON $Band")
    }
    assert(nodes[ReusedExchangeExec](df).isEmpty, executedPlan(df))
    assert(bucketNodes(df).map(_.partitioning).distinct.size == 2)
    for (pair <- bucketNodes(df).grouped(2)) assert(pair.map(_.isOwner).toSet == Set(true, false))
  }

  test("chooses the number of buckets by the rows, and none for little") {
    views(20000)
    def query =
      sql("SELECT count(*), sum(l.id), sum(r.id) FROM l JOIN r ON r.p BETWEEN l.p - 1 AND l.p + 1")
    withConf(Adaptive ++ Seq(InternalConf.RangePartitioningThreshold.key -> "1"): _*) {
      val df = query
      rows(df)
      val (first, second) = (bucketNodes(df).head, bucketNodes(df).last)
      assert(first.metrics("numBuckets").value == 12) // 4 for each of 3 partitions
      assert(second.metrics("numBuckets").value == 12)
      val copies =
        (first.metrics.get("numCopies") ++ second.metrics.get("numCopies")).map(_.value).sum
      assert(copies > 0 && copies < 100, copies)
      val largest = first.metrics("largestBucket").value
      assert(largest > 3000 && largest < 4000, largest)
    }
    withConf(InternalConf.RangePartitioningThreshold.key -> "1GB") {
      val df = query
      val found = rows(df)
      assert(bucketNodes(df).map(_.metrics("numBuckets").value) == Seq(1, 1))
      // No task without rows where nothing coalesces them. Spark takes the join for a large one.
      withConf(
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
        SQLConf.MAX_SINGLE_PARTITION_BYTES.key -> "1MB",
        SQLConf.SHUFFLE_PARTITIONS.key -> "50") {
        val df = query
        assert(execution(df).toRdd.getNumPartitions == 1, executedPlan(df))
        assertSameRows(rows(df), found, executedPlan(df).toString)
      }
    }
  }

  test("few buckets where rows would be copied to all of them") {
    views(3000)
    withConf(Adaptive ++ Seq(
      InternalConf.RangePartitioningThreshold.key -> "1",
      SQLConf.SHUFFLE_PARTITIONS.key -> "50"): _*) {
      // Ten points, and intervals all of which reach over everything.
      val df = sql("""SELECT l.id, r.id FROM (SELECT * FROM l WHERE id <= 10) l
        JOIN (SELECT id, s - 100000 AS s, s + 100000 AS e FROM r) r ON l.p BETWEEN r.s AND r.e""")
      assert(df.count() == 30000)
      val copied = bucketNodes(df).find(!_.isOwner).get
      assert(copied.metrics("numOutputRows").value <= 1.2 * (3000 + 10 + 30000))
    }
  }

  test("copies look back no further than the owner's intervals are long, adaptive or not") {
    views()
    for (adaptive <- Seq("true", "false"))
      withConf(Buckets -> "8", SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive) {
        val df = sql("SELECT l.id, r.id FROM l LEFT JOIN r ON r.p BETWEEN l.p AND l.p + 3")
        rows(df)
        // Each of them would be in seven buckets if the longest interval were not known.
        val copied = bucketNodes(df).find(!_.isOwner).get
        assert(copied.metrics("numOutputRows").value < 2 * 300, executedPlan(df))
      }
  }

  test("EXPLAIN shows the buckets, and reads nothing") {
    views()
    withConf(Buckets -> "5", SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val df = sql(s"SELECT l.id, r.id FROM l LEFT JOIN r ON $Band")
      val execution = df.queryExecution
      for (mode <- Seq(ExplainMode.fromString("formatted"), ExplainMode.fromString("codegen"))) {
        assert(execution.explainString(mode).contains("RangeBucket"))
      }
      val text = execution.explainString(ExplainMode.fromString("simple"))
      assert(text.contains("RangeBucket owner"), text)
      assert(text.contains("RangeBucket copies"), text)
      assert(text.contains("boundaries: quantiles of both sides"), text)
      assert(
        !JoinReports.json(execution.asInstanceOf[org.apache.spark.sql.execution.QueryExecution])
          .contains("range_bucket"))
      for (node <- bucketNodes(df)) assert(node.metrics("numBuckets").value == 0)
    }
  }

  test("what stays as it was: small sides, hints, equi keys, full outer joins, and switched off") {
    views()
    def left(df: DataFrame): Unit = assert(bucketNodes(df).isEmpty, executedPlan(df))
    val plain = s"SELECT l.id, r.id FROM l JOIN r ON $Band"
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB") {
      assert(nodes[BroadcastRangeJoinExec](sql(plain)).size == 1)
      left(sql(plain))
    }
    val hinted = sql(s"SELECT /*+ BROADCAST(r) */ l.id, r.id FROM l JOIN r ON $Band")
    assert(nodes[BroadcastRangeJoinExec](hinted).size == 1)
    val replicated = sql(s"SELECT /*+ SHUFFLE_REPLICATE_NL(r) */ l.id, r.id FROM l JOIN r ON $Band")
    assert(nodes[CartesianProductExec](replicated).size == 1)
    left(sql(s"SELECT l.id, r.id FROM l JOIN r ON l.g = r.g AND $Band"))
    val full = sql(s"SELECT l.id, r.id FROM l FULL JOIN r ON $Band")
    assert(nodes[BroadcastRangeJoinExec](full).size == 1)
    withConf(RangeJoinConf.RangePartitioning.key -> "false") {
      assert(nodes[CartesianProductExec](sql(plain)).size == 1)
    }
    assert(bucketNodes(sql(plain)).size == 2)
  }
}

object RangePartitioningPlansSuite {

  /** How often a partition was read. */
  private val readings = new java.util.concurrent.atomic.AtomicInteger
}
