// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, Literal}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, ReusedExchangeExec}
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.JobsTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.{OneTask, Settings}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastTables
import org.apache.spark.sql.rangejoin.index.RangeIndexMode

import org.scalatest.BeforeAndAfterAll
import org.scalatest.tagobjects.Slow

/**
 * A filter of partitions that takes its values from the broadcast of a range join: the join is one, and
 * what is read is what stock Spark reads.
 */
class DynamicPruningSuite extends BroadcastTables with JobsTest with BeforeAndAfterAll {

  override protected def hasOneEngine: Boolean = true

  private val Few = "few.t BETWEEN parted.t - 20 AND parted.t + 20"

  /** Two tables of twenty partitions, and a small one of which a filter leaves some rows. */
  private def withTables(
      part: String = "id % 20",
      key: String = "id",
      t: String = "t"
  )(body: => Unit): Unit = {
    if (!made.contains((part, key, t))) {
      dropTables()
      for ((name, seed) <- Seq("parted" -> 1, "other" -> 5))
        table(400, seed).withColumn("p", expr(part)).write.partitionBy("p").saveAsTable(name)
      table(40, 2).selectExpr(s"$key AS id", "k", s"$t AS t").write.saveAsTable("few")
      made = Some((part, key, t))
    }
    body
  }

  /** What the tables are made of: most tests have the same. */
  private var made = Option.empty[(String, String, String)]

  private def dropTables(): Unit = {
    made = None
    Seq("parted", "other", "few").foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))
  }

  override protected def afterAll(): Unit =
    try dropTables()
    finally super.afterAll()

  /** The partitions that scans have read. */
  private def partitionsRead(df: DataFrame): Seq[Long] = nodes[FileSourceScanExec](df)
    .filter(_.relation.partitionSchema.nonEmpty).map(_.metrics("numPartitions").value).sorted

  private def filters(df: DataFrame): Seq[DynamicPruningExpression] =
    nodes[SparkPlan](df).flatMap(_.expressions.flatMap(_.collect {
      case filter: DynamicPruningExpression => filter
    }))

  /** Broadcasts that have been made, however often they are read. */
  private def broadcastsOf(df: DataFrame): Seq[BroadcastExchangeExec] = {
    val exchanges = nodes[SparkPlan](df).collect {
      case exchange: BroadcastExchangeExec                        => exchange
      case ReusedExchangeExec(_, exchange: BroadcastExchangeExec) => exchange
    }
    exchanges.groupBy(System.identityHashCode).values.map(_.head).toSeq
  }

  private def broadcasts(df: DataFrame): Int = broadcastsOf(df).size

  /** Both engines, one of them adaptive; `make test-engines` has all four. */
  private def engines: Seq[Settings] = bothEngines.map(_.filter(_ != OneTask))

  /**
   * Runs a query under both engines and compares it with stock Spark's.
   *
   * @param joins broadcast range joins in its plan
   * @param made broadcasts that it makes
   * @param prunes whether fewer than all partitions are read, as many as by stock Spark
   */
  private def check(
      query: => DataFrame,
      joins: Int = 1,
      made: Int = 1,
      prunes: Boolean = true,
      settings: Settings = Nil
  ): Unit = for (engine <- engines) withConf(engine ++ settings: _*) {
    val (expectedRows, expectedRead) = withConf(Flag -> "false") {
      val stock = query
      (rows(stock), partitionsRead(stock))
    }
    val ours = query
    assert(broadcastJoins(ours).size == joins, executedPlan(ours))
    assertSameRows(rows(ours), expectedRows, s"$engine\n${executedPlan(ours)}")
    assert(broadcastJoins(ours).size == joins, s"once it has run: ${executedPlan(ours)}")
    assert(partitionsRead(ours) == expectedRead, s"$engine\n${executedPlan(ours)}")
    assert(prunes == expectedRead.exists(_ < 20), expectedRead)
    assert(broadcasts(ours) == made, s"$engine\n${executedPlan(ours)}")
  }

  private def oneJoin(
      join: String = "JOIN",
      select: String = "parted.id, few.id",
      on: String = Few) =
    spark.sql(s"SELECT $select FROM parted $join few ON parted.p = few.id AND $on WHERE few.k = 3")

  for ((kind, part, key) <- Seq(
      ("bigint", "id % 20", "id"),
      ("int", "cast(id % 20 as int)", "cast(id as int)"),
      ("smallint", "cast(id % 20 - 10 as smallint)", "cast(id - 10 as smallint)"),
      ("string", "concat('p', id % 20)", "concat('p', id)"),
      ("int of a bigint", "cast(id % 20 as int)", "id")
    ))
    test(
      s"a key of type $kind: the join is a range join, and prunes",
      slowIf(!Set("bigint", "string")(kind)): _*) {
      withTables(part, key) {
        check(oneJoin())
        check(spark.sql(
          s"""SELECT parted.id FROM parted LEFT SEMI JOIN (SELECT * FROM few WHERE k = 3) few
             |ON parted.p = few.id AND $Few""".stripMargin))
      }
    }

  testOfCases("two keys of which one prunes, packed into one long and not", 2)(Seq(
    ("cast(id % 20 as int)", "cast(id as int)"),
    ("concat('p', id % 20)", "concat('p', id)"))) { cases =>
    for ((part, key) <- cases)
      withTables(part, key) {
        for (on <- Seq("few.id = parted.p AND cast(few.k AS int) = cast(parted.k AS int)"))
          check(spark.sql(
            s"SELECT parted.id, few.id FROM few JOIN parted ON $on AND $Few WHERE few.k < 3"))
      }
  }

  test("both of two keys prune", Slow) {
    withTables() {
      spark.sql("DROP TABLE IF EXISTS twice")
      table(400, 1).withColumn("p", expr("cast(id % 5 as int)")).withColumn(
        "q",
        expr("cast(id % 4 - 2 as int)"))
        .write.partitionBy("p", "q").saveAsTable("twice")
      try {
        check(spark.sql(
          """SELECT twice.id, few.id FROM twice JOIN (SELECT cast(id % 7 as int) p,
            |cast(id % 3 - 3 as int) q, id, t FROM few WHERE k = 3) few
            |ON twice.p = few.p AND twice.q = few.q AND few.t BETWEEN twice.t - 20 AND twice.t""".stripMargin))
      } finally spark.sql("DROP TABLE twice")
    }
  }

  /** Else Spark filters the rows of a side where a column that is compared is NULL. */
  private val Unfiltered: Settings = Seq(SQLConf.CONSTRAINT_PROPAGATION_ENABLED.key -> "false")

  testOfCases("keys and bounds that are NULL", 3)(
    Seq(Few, "few.t >= parted.t", "few.t <= parted.t AND few.k + 1 > parted.k")) { ranges =>
    withTables(key = "nullif(id, 5)", t = "CASE WHEN id % 3 > 0 THEN t END") {
      for (on <- ranges) check(oneJoin(on = on), settings = Unfiltered)
      check(oneJoin())
    }
    withTables(t = "cast(NULL AS bigint)")(check(oneJoin(), settings = Unfiltered))
  }

  test("a filter of another join has keys of which bounds are NULL", Slow) {
    withTables(t = "CASE WHEN id % 3 > 0 THEN t END") {
      def both = spark.sql(
        s"""SELECT few.id, few.t, parted.id FROM parted JOIN few ON parted.p = few.id AND $Few
           |WHERE few.k = 3
           |UNION ALL
           |SELECT /*+ MERGE(other) */ few.id, few.t, other.id
           |FROM few LEFT JOIN other ON other.p = few.id WHERE few.k = 3""".stripMargin)
      check(both, settings = Unfiltered)
      withConf(Unfiltered: _*) {
        val df = both
        rows(df)
        assert(partitionsRead(df).size == 2 && partitionsRead(df).forall(_ < 20))
      }
    }
  }

  test("two range joins with one small table", Slow) {
    withTables() {
      def union(on: String) = spark.sql(
        s"""SELECT parted.id, few.id, few.t FROM parted JOIN few ON parted.p = few.id AND $Few
           |WHERE few.k = 3
           |UNION ALL
           |SELECT other.id, few.id, few.t FROM other JOIN few ON other.p = few.id AND $on
           |WHERE few.k = 3""".stripMargin)
      check(union("few.t BETWEEN other.t - 5 AND other.t + 5"), joins = 2)
      // Spark 3.5 filters the same rows for both, which are broadcast once for all ranges.
      val ofSums = if (org.apache.spark.SPARK_VERSION < "4.0") 1 else 2
      check(union("few.t + 1 BETWEEN other.t - 5 AND other.t + 5"), joins = 2, made = ofSums)
      // The same as columns, but for the rows.
      check(
        spark.sql(
          s"""SELECT parted.id, few.id, few.t FROM parted JOIN few ON parted.p = few.id AND $Few
             |WHERE few.k = 3
             |UNION ALL
             |SELECT parted.id, few.id, few.t FROM parted JOIN few ON parted.p = few.id AND $Few
             |WHERE few.k = 2""".stripMargin),
        joins = 2,
        made = 2
      )
    }
  }

  test("a range join and a hash join with one small table", Slow) {
    withTables() {
      check(
        spark.sql(
          s"""SELECT parted.id, few.id, few.t FROM parted JOIN few ON parted.p = few.id AND $Few
             |WHERE few.k = 3
             |UNION ALL
             |SELECT other.id, few.id, few.t FROM other JOIN few ON other.p = few.id
             |WHERE few.k = 3""".stripMargin),
        made = 2
      )
      withAdaptive { on =>
        def chain = spark.sql(
          s"""SELECT /*+ BROADCAST(x) */ parted.id, few.t, x.t FROM parted JOIN few ON parted.p = few.id
             |JOIN other x ON parted.id = x.id AND x.t BETWEEN parted.t - 20 AND parted.t + 20
             |WHERE few.k = 3""".stripMargin)
        val df = chain
        assert(broadcastJoins(df).size == 1 && nodes[BroadcastHashJoinExec](df).size == 1)
        assertSameRows(rows(df), expected(chain), s"adaptive: $on")
        assert(partitionsRead(df).exists(_ < 20), executedPlan(df))
      }
    }
  }

  test("a small table without rows", Slow) {
    withTables() {
      withAdaptive { on =>
        def none = spark.sql(
          s"SELECT parted.id FROM parted JOIN few ON parted.p = few.id AND $Few WHERE few.k > 90")
        val df = none
        assert(broadcastJoins(df).size == 1)
        assert(rows(df).isEmpty, s"adaptive: $on")
        assert(partitionsRead(df).forall(_ == 0), executedPlan(df))
      }
    }
  }

  test("a query that runs twice, and one whose rows are kept") {
    withTables() {
      for (engine <- engines) withConf(engine: _*) {
        val df = oneJoin()
        val stock = expected(oneJoin())
        for (_ <- 1 to 2) assertSameRows(rows(df), stock, s"$engine")
        assert(broadcasts(df) == 1 && partitionsRead(df).forall(_ < 20))
        val kept = oneJoin().cache()
        try for (_ <- 1 to 2) assertSameRows(rows(kept.select("*")), stock, s"$engine")
        finally kept.unpersist(true)
      }
    }
  }

  test("partitions are left out by keys, and rows of those that are read by ranges", Slow) {
    // Sums that wrap around limit no values.
    ansi(on = true)(withTables(part = "id div 20") {
      def query = spark.sql(
        """SELECT parted.id, few.id FROM parted JOIN few
          |ON parted.p = few.id AND few.t BETWEEN parted.id - 5 AND parted.id + 5
          |WHERE few.k < 4""".stripMargin)
      def rowsRead(df: DataFrame) = only(nodes[FileSourceScanExec](df)
        .filter(_.relation.partitionSchema.nonEmpty)).metrics("numOutputRows").value
      withAdaptive { on =>
        val df = query
        assert(broadcastJoins(df).size == 1, executedPlan(df))
        assertSameRows(rows(df), expected(query), s"adaptive: $on")
        val byKeys = withConf(Flag -> "false") {
          val stock = query
          rows(stock)
          rowsRead(stock)
        }
        assert(byKeys < 400)
        // Ranges are known where adaptive execution has the index before it plans the stage.
        if (on) assert(rowsRead(df) < byKeys) else assert(rowsRead(df) == byKeys)
      }
    })
  }

  test("broadcasts are not to be used twice", Slow) {
    withTables() {
      check(
        oneJoin(),
        prunes = false,
        settings = Seq(SQLConf.EXCHANGE_REUSE_ENABLED.key -> "false"))
      withConf(
        SQLConf.DYNAMIC_PARTITION_PRUNING_ENABLED.key -> "false")(checkAgainstStock(oneJoin()))
    }
  }

  // With BETWEEN the function is a column already.
  private val InTasks = "same(few.t) >= parted.t - 20 AND same(few.t) <= parted.t + 20"

  testOfCases("bounds that are computed in tasks, of a small table that is computed", 4)(for {
    few <- Seq(
      "(SELECT id, same(t) AS t, k FROM few WHERE k = 3)",
      "(SELECT id, max(t) AS t FROM few WHERE k = 3 GROUP BY id)",
      "(SELECT a.id, b.t FROM few a JOIN few b ON a.id = b.id AND a.k = 3)"
    )
    on <- Seq(Few, InTasks)
  } yield (few, on)) { cases =>
    withTables() {
      spark.udf.register("same", (t: Long) => t)
      for ((few, on) <- cases)
        withConf("spark.sql.shuffle.partitions" -> "2") {
          for (engine <- engines) withConf(engine: _*) {
            def query =
              spark.sql(s"SELECT /*+ BROADCAST(few) */ parted.id, few.* FROM parted JOIN $few few ON parted.p = few.id AND $on")
            val df = query
            assert(broadcastJoins(df).size == 1, executedPlan(df))
            assertSameRows(rows(df), expected(query), s"$engine")
            assert(partitionsRead(df).exists(_ < 20), executedPlan(df))
            val indexes = broadcastsOf(df).filter(_.mode.isInstanceOf[RangeIndexMode])
            assert(indexes.size == 1, executedPlan(df))
          }
        }
    }
  }

  test("a side is shuffled before the small table is there", Slow) {
    withTables() {
      check(spark.sql(
        s"""SELECT /*+ MERGE(x) */ parted.id, few.id FROM parted JOIN other x ON parted.id = x.t
           |JOIN few ON parted.p = few.id AND $Few WHERE few.k = 3""".stripMargin))
    }
  }

  test(
    "a filter waits for the shuffle of a small table, whose bounds are computed in tasks",
    Slow) {
    withTables() {
      spark.udf.register("same", (t: Long) => t)
      val few = "(SELECT id, max(t) AS t FROM few WHERE k = 3 GROUP BY id HAVING max(t) >= 0)"
      check(spark.sql(
        s"""SELECT /*+ MERGE(x), BROADCAST(few) */ parted.id, few.id
           |FROM parted JOIN other x ON parted.id = x.t JOIN $few few
           |ON parted.p = few.id AND $InTasks""".stripMargin))
    }
  }

  test("within a subquery", Slow) {
    withTables() {
      check(
        spark.sql(
          s"""SELECT id FROM few WHERE t > (SELECT min(parted.t) FROM parted JOIN few
             |ON parted.p = few.id AND $Few WHERE few.k = 3)""".stripMargin),
        joins = 0
      )
      withAdaptive { _ =>
        val df = spark.sql(
          s"""SELECT id FROM few WHERE t > (SELECT min(parted.t) FROM parted JOIN few
             |ON parted.p = few.id AND $Few WHERE few.k = 3)""".stripMargin)
        rows(df)
        assert(executedPlan(df).toString.contains("BroadcastRangeJoin"), executedPlan(df))
      }
    }
  }

  test("the index is collected by one job, and the filter shows where its values are from") {
    withTables() {
      withAdaptive { on =>
        var df: DataFrame = null
        val jobs = startedJobs { df = oneJoin(); df.collect() }
        val ofIndex = descriptions(jobs).filter(_.contains("RangeIndex"))
        assert(ofIndex.size == 1, s"adaptive: $on")
        val values = filters(df).flatMap(_.collect { case in: InSubqueryExec => in.plan })
        assert(values.nonEmpty && values.forall(_.isInstanceOf[SubqueryBroadcastExec]))
        assert(filters(df).forall(_.child != Literal.TrueLiteral))
      }
    }
  }

  test("a source of data that takes filters while the query runs", Slow) {
    val numbers = spark.read.format(classOf[RuntimeFilteredSource].getName)
    withTables() {
      for (engine <- engines) withConf(engine: _*) {
        def query = {
          numbers.load().createOrReplaceTempView("numbers")
          spark.sql(
            """SELECT numbers.*, few.* FROM numbers JOIN few
              |ON numbers.p = few.id AND few.t BETWEEN numbers.t - 20 AND numbers.t + 20
              |WHERE few.k = 3""".stripMargin)
        }
        def tasks(df: DataFrame) = only(nodes[BatchScanExec](df)).inputRDD.getNumPartitions
        val df = query
        assert(broadcastJoins(df).size == 1, executedPlan(df))
        assertSameRows(rows(df), expected(query), s"$engine")
        val stock = withConf(Flag -> "false") { val df = query; rows(df); tasks(df) }
        assert(tasks(df) == stock && stock < 10, executedPlan(df))
        assert(broadcasts(df) == 1, executedPlan(df))
      }
    }
  }
}
