// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.duration.Duration

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.plan.DeferShuffle
import org.apache.spark.sql.{DataFrame, Row}

import org.scalatest.tagobjects.Slow

/** Sides that turn out to be small before they are shuffled by buckets, and those that do not. */
class DeferShuffleSuite extends SmallSidesTest {

  /** A costly side is measured where it may not be written ([[CostlySideSuite]]). */
  private val Measured = Sizes :+ (InternalConf.WriteOnce.key -> "false")

  private def broadcasts(df: DataFrame): Seq[BroadcastRangeJoinExec] =
    collect(executedPlan(df)) { case join: BroadcastRangeJoinExec => join }

  /** Runs a query whose join becomes a broadcast range join while it runs, and compares its rows. */
  private def becomesBroadcast(settings: (String, String)*)(query: => DataFrame): DataFrame =
    withConf(Sizes ++ settings: _*) {
      val df = query
      assert(bucketNodes(df).size == 2, executedPlan(df))
      assertAsStock(df, query)
      assert(broadcasts(df).size == 1 && bucketNodes(df).isEmpty, executedPlan(df))
      df
    }

  /** Runs a query whose join is one by buckets in the end, and compares its rows. */
  private def staysByBuckets(settings: (String, String)*)(query: => DataFrame): DataFrame =
    withConf(Sizes ++ settings: _*) {
      val df = query
      assertAsStock(df, query)
      assert(bucketNodes(df).size == 2 && rangeJoins(df).size == 1, executedPlan(df))
      assert(nodes[DeferShuffleExec](df).isEmpty && measures(df).isEmpty, executedPlan(df))
      df
    }

  private def measures(df: DataFrame): Seq[ProbeExec] = nodes[ProbeExec](df)

  /** How many rows of a source were read. */
  private def countReadings(name: String)(query: => DataFrame): Long = {
    val count = spark.sparkContext.longAccumulator
    val source = spark.sparkContext.parallelize(1 to 500, 4).map { i =>
      count.add(1)
      Row(i.toLong, i % 6, i * 7919 % 1000)
    }
    spark.createDataFrame(source, spark.table("l").schema).createOrReplaceTempView(name)
    query.collect()
    count.value
  }

  test("a filter that leaves few rows: whatever join may broadcast that side") {
    views()
    val few = "(SELECT * FROM %s WHERE id % 50 = 1)"
    def side(name: String) = s"${few.replace("%s", name)} $name"
    for (joined <- Seq("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"))
      becomesBroadcast()(sql(s"SELECT * FROM l $joined ${side("r")} ON $Band"))
    for (joined <- Seq("JOIN", "RIGHT JOIN"))
      becomesBroadcast()(sql(s"SELECT * FROM ${side("l")} $joined r ON $Band"))
    becomesBroadcast()(
      sql(s"SELECT id, EXISTS (SELECT * FROM ${side("r")} WHERE $Band) OR g = 1 AS e FROM l"))
    becomesBroadcast()(sql(s"SELECT * FROM ${side("l")} JOIN ${side("r")} ON $Band"))
  }

  test("a filter that leaves no row, or all of a table that is small") {
    views()
    withConf(Sizes: _*) {
      for (joined <- Seq("LEFT JOIN", "LEFT ANTI JOIN", "JOIN")) {
        def query = sql(s"SELECT * FROM l $joined (SELECT * FROM r WHERE id < 0) r ON $Band")
        val df = query
        assertAsStock(df, query)
        assert(bucketNodes(df).isEmpty, executedPlan(df))
      }
    }
  }

  test("a filter that leaves many rows, and which side is measured") {
    views()
    val many = "(SELECT * FROM r WHERE id % 50 <> 1) r"
    for (joined <- Seq("JOIN", "LEFT ANTI JOIN"))
      staysByBuckets()(sql(s"SELECT * FROM l $joined $many ON $Band"))
    withConf(Sizes: _*) {
      def measured(joined: String) =
        measures(sql(s"""SELECT l.id FROM (SELECT * FROM l WHERE id <> 3) l
        $joined $many ON $Band""")).distinct.size
      // Below each of both sides; a preserved side is not broadcast by its size.
      assert(measured("JOIN") == 2)
      for (joined <- Seq("LEFT JOIN", "RIGHT JOIN", "LEFT ANTI JOIN")) assert(measured(joined) == 1)
    }
  }

  test("rows that Spark knows nothing of, from an RDD and from a generator") {
    views()
    def few = spark.createDataFrame(
      spark.sparkContext.parallelize(Seq(Row(1L, 2, 300), Row(2L, 2, 700)), 2),
      spark.table("r").schema)
    val near = col("r.p").between(col("l.p"), col("l.p") + 90)
    becomesBroadcast()(spark.table("l").as("l").join(few.as("r"), near, "left"))
    few.createOrReplaceTempView("few")
    becomesBroadcast()(sql(
      """SELECT * FROM l LEFT JOIN (SELECT id, explode(array(p, p + 5)) AS p FROM few) r
        |ON r.p BETWEEN l.p - 4 AND l.p + 4""".stripMargin))
    becomesBroadcast()(sql(s"""SELECT * FROM l LEFT JOIN
      (SELECT p FROM few UNION ALL SELECT p FROM r WHERE id = 7) r ON $Band"""))
    // A small source beside one that is not filtered.
    staysByBuckets()(sql(s"""SELECT * FROM l LEFT JOIN
      (SELECT p FROM few UNION ALL SELECT p FROM r) r ON $Band"""))
  }

  test("an aggregate that turns out small, whose stage runs first") {
    views()
    for (joined <- Seq("LEFT ANTI JOIN"))
      becomesBroadcast()(sql(
        s"SELECT * FROM l $joined (SELECT g, max(p) AS p FROM r GROUP BY g) r ON $Band"))
    becomesBroadcast()(sql(s"""SELECT * FROM l LEFT JOIN
      (SELECT id, max(p) AS p FROM r GROUP BY id HAVING max(p) % 50 = 1) r ON $Band"""))
  }

  test("an aggregate that turns out large is shuffled once, and sampled from its shuffle") {
    views()
    def query = sql(s"""SELECT * FROM l LEFT JOIN
      (SELECT id, max(p) AS p FROM source GROUP BY id) r ON $Band""")
    withConf(Measured: _*) {
      assert(countReadings("source")(query) == 500)
      // Planned twice without being the same: it is not waited for.
      withConf(SQLConf.EXCHANGE_REUSE_ENABLED.key -> "false")(
        assert(countReadings("source")(query) > 500))
    }
    staysByBuckets()(query)
    staysByBuckets(InternalConf.WriteOnce.key -> "false")(query)
    staysByBuckets(SQLConf.EXCHANGE_REUSE_ENABLED.key -> "false")(query)
  }

  test("a side that a join with a small table leaves little of") {
    views()
    spark.sql("SELECT * FROM VALUES (17L), (300L), (301L) AS t (id)").createOrReplaceTempView("few")
    for (side <- Seq(
        "SELECT r.* FROM r JOIN few ON r.id = few.id",
        "SELECT * FROM r WHERE id IN (SELECT id FROM few)",
        "SELECT * FROM r LEFT ANTI JOIN (SELECT /*+ BROADCAST */ id FROM l WHERE id % 50 <> 1) x ON r.id = x.id"
      ))
      withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "1000")(
        becomesBroadcast()(sql(s"SELECT * FROM l LEFT JOIN ($side) r ON $Band")))
    staysByBuckets()(
      sql(s"SELECT * FROM l JOIN (SELECT r.* FROM r JOIN few ON r.g < few.id) r ON $Band"))
  }

  test(
    "a side that a sort-merge join leaves little of is not measured: the join would be done for it") {
    views()
    withConf(Sizes: _*) {
      def query = sql(s"""SELECT * FROM l LEFT JOIN
        (SELECT a.* FROM r a JOIN l b ON a.id = b.id AND pmod(a.p * b.p, 5) = 1) r ON $Band""")
      val jobs = descriptions(startedJobs(query.collect()))
      assert(!jobs.exists(_.contains("whether a side is small")), jobs)
      staysByBuckets()(query)
      val half = startedJobs(
        sql(s"SELECT * FROM l LEFT JOIN (SELECT * FROM r WHERE id % 2 = 1) r ON $Band").collect())
      assert(descriptions(half).count(_.contains("whether a side is small")) == 1)
    }
  }

  test("aggregates, joins and subqueries on both sides", Slow) {
    views()
    staysByBuckets()(sql(s"""SELECT * FROM (SELECT id, min(p) AS p FROM l GROUP BY id) l
      LEFT JOIN (SELECT id, max(p) AS p FROM r GROUP BY id) r ON $Band"""))
    becomesBroadcast()(sql(s"""SELECT * FROM (SELECT id, min(p) AS p FROM l GROUP BY id) l
      JOIN (SELECT a.g, max(a.p) AS p FROM r a JOIN l b ON a.id = b.id GROUP BY a.g) r ON $Band"""))
    becomesBroadcast()(sql(s"""SELECT * FROM l LEFT JOIN
      (SELECT * FROM r WHERE id < (SELECT min(id) + 5 FROM l)) r ON $Band"""))
    staysByBuckets()(sql(s"""SELECT * FROM l JOIN
      (SELECT a.* FROM r a JOIN l b ON a.id = b.id) r ON $Band"""))
  }

  test("a join within another, a self join, a cached one, and one that is run again") {
    views()
    val few = "(SELECT * FROM r WHERE id % 50 = 1)"
    withConf(Sizes: _*) {
      def nested = sql(s"""SELECT * FROM (SELECT l.id, r.p FROM l LEFT JOIN $few r ON $Band) x
        LEFT JOIN $few y ON y.p BETWEEN x.p AND x.p + 50""")
      val df = nested
      assertAsStock(df, nested)
      assert(broadcasts(df).size == 2, executedPlan(df))
      assertAsStock(df, nested)
    }
    becomesBroadcast()(sql(s"SELECT * FROM $few l JOIN $few r ON $Band"))
    withConf(Sizes: _*) {
      def query = sql(s"SELECT l.id AS a, r.id AS b FROM l LEFT JOIN $few r ON $Band")
      val cached = query.cache()
      try assertAsStock(cached, query)
      finally cached.unpersist()
    }
  }

  test("joins within joins are planned as often as there are joins") {
    views()
    def few(name: String) = s"(SELECT * FROM r WHERE id % 50 = 1) $name"
    def chain(joins: Int) = sql((1 to joins).foldLeft(s"SELECT r0.id FROM ${few("r0")}") {
      (text, i) =>
        s"$text JOIN ${few(s"r$i")} ON r$i.p BETWEEN r${i - 1}.p AND r${i - 1}.p + 50"
    })
    withConf(Sizes: _*) {
      // A side that is measured, and has measured sides itself, would be planned twice for each level.
      val planned = Seq(2, 4, 8).map(joins => joinsPlanned(executedPlan(chain(joins))))
      assert(planned(1) <= 3 * planned.head && planned(2) <= 3 * planned(1), planned)
      val df = chain(3)
      assertAsStock(df, chain(3))
      assert(broadcasts(df).size == 3, executedPlan(df))
    }
  }

  test("a measure is that of its side and its columns") {
    views()
    withConf(Sizes: _*) {
      def measured(join: Join): Seq[SideMeasure] =
        DeferShuffle.measures(join, spark.sessionState.conf).values.toSeq
      def joinOf(text: String) =
        execution(sql(text)).optimizedPlan.collectFirst { case found: Join => found }.get
      val few = "(SELECT * FROM r WHERE id % 50 = 1)"
      val join = joinOf(s"SELECT * FROM l LEFT JOIN $few r ON $Band")
      // What a rule of Spark does when it puts a join in the place of another.
      def inPlace(copy: Join): Join = { copy.copyTagsFrom(join); copy }
      def narrow = inPlace(join.copy(right =
        Project(join.right.output.filter(_.name == "p"), join.right)))
      def other = inPlace(joinOf(
        s"SELECT * FROM l LEFT JOIN (SELECT id + 1 AS p FROM r WHERE id % 50 = 1) r ON $Band"))

      val measure = measured(join).head
      assert(measured(join) == Seq(measure) && measured(inPlace(join.copy())) == Seq(measure))
      assert(measured(narrow).size == 1 && !measured(narrow).contains(measure))
      assert(measured(other).size == 1 && !measured(other).contains(measure))
      measure.ask(spark.sparkContext.emptyRDD[InternalRow], Duration.Inf)
      assert(DeferShuffle.overSmall(join).isDefined && DeferShuffle.overSmall(narrow).isDefined)
      assert(DeferShuffle.overSmall(other).isEmpty)
    }
  }

  /** How often strategies are asked for the plan of a join. */
  private def joinsPlanned(plan: => SparkPlan): Int = {
    var asked = 0
    object Counting extends SparkStrategy {
      override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
        if (plan.isInstanceOf[Join]) asked += 1
        Nil
      }
    }
    val before = spark.experimental.extraStrategies
    spark.experimental.extraStrategies = Counting +: before
    try plan
    finally spark.experimental.extraStrategies = before
    asked
  }

  test("a filter that gives other rows each time") {
    views()
    withConf(Measured: _*) {
      // None when it is measured, and all of them later.
      val some = udf(() => DeferShuffleSuite.asked.incrementAndGet() > 500).asNondeterministic()
      DeferShuffleSuite.asked.set(0)
      val r = spark.table("r").where(some()).as("r")
      val near = col("r.p").between(col("l.p") - 4, col("l.p") + 4)
      val df = spark.table("l").as("l").join(r, near, "left")
      assert(bucketNodes(df).size == 2, executedPlan(df))
      assertAsStock(df, sql(s"SELECT * FROM l LEFT JOIN r ON $Band"))
      assert(broadcasts(df).size == 1, executedPlan(df))
    }
  }

  test("what is not measured") {
    views()
    val few = "(SELECT * FROM r WHERE id % 50 = 1) r"
    // For its size, that is, and not until an owner has been shuffled.
    def waits(text: String) = nodes[DeferShuffleExec](sql(text))
      .exists(!_.others.forall(_.isInstanceOf[AwaitStageExec]))
    val plain = s"SELECT * FROM l LEFT JOIN $few ON $Band"
    withConf(Measured: _*) {
      assert(waits(plain))
      assert(!waits(s"SELECT * FROM l LEFT JOIN r ON $Band"))
      assert(!waits(s"SELECT * FROM l JOIN r ON $Band"))
      assert(!waits(s"SELECT * FROM l LEFT JOIN (SELECT * FROM r WHERE p IS NOT NULL) r ON $Band"))
      assert(!waits(s"SELECT * FROM (SELECT * FROM l WHERE id % 50 = 1) l LEFT JOIN r ON $Band"))
      val aggregated =
        s"SELECT * FROM l LEFT JOIN (SELECT id, max(p) AS p FROM r GROUP BY id) r ON $Band"
      assert(waits(aggregated))
      withConf(InternalConf.DeferShuffle.key -> "false")(assert(!waits(aggregated)))
      assert(!waits(s"SELECT /*+ RANGE_JOIN(r) */ * FROM l LEFT JOIN $few ON $Band"))
      for (off <- Seq(
          SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
          SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
          InternalConf.DeferShuffle.key -> "false",
          InternalConf.RangePartitioningBuckets.key -> "1",
          RangeJoinConf.Broadcast.key -> "false"
        ))
        withConf(off)(assert(!waits(plain), off))
    }
  }

  test("EXPLAIN says what is waited for, and reads nothing") {
    views()
    withConf(Measured: _*) {
      val readings = countReadings("source") {
        val df =
          sql(s"SELECT * FROM l LEFT JOIN (SELECT * FROM source WHERE id % 50 = 1) r ON $Band")
        val text = executedPlan(df).toString
        assert(
          text.contains("DeferShuffle") && text.contains("Probe at most 1000 bytes"),
          text)
        spark.range(1).toDF()
      }
      assert(readings == 0)
    }
  }

  test("an error of the filter is that of the query") {
    views()
    ansi(on = true) {
      withConf(Sizes: _*) {
        def query =
          sql(s"SELECT * FROM l LEFT JOIN (SELECT * FROM r WHERE 1 / (id - 400) > 0) r ON $Band")
        val stock = intercept[Exception](withConf(Flag -> "false")(query.collect()))
        val ours = intercept[Exception](query.collect())
        assert(ours.getClass == stock.getClass)
        // Spark 3.5 wraps it in an error that has the number of the task.
        def told(e: Throwable): String =
          Iterator.iterate(e)(_.getCause).takeWhile(_ != null).toSeq.last.getMessage
        assert(told(ours).linesIterator.next() == told(stock).linesIterator.next())
      }
    }
  }

  test("a query that is cancelled while a side is measured ends") {
    views()
    val slow = spark.sparkContext.parallelize(1 to 500, 4).map { i =>
      if (org.apache.spark.TaskContext.get().isInterrupted()) throw new InterruptedException
      Thread.sleep(100)
      Row(i.toLong, i % 6, i)
    }
    spark.createDataFrame(slow, spark.table("r").schema).createOrReplaceTempView("slow")
    withConf(Measured: _*) {
      val df = sql(s"SELECT * FROM l LEFT JOIN (SELECT * FROM slow WHERE id % 50 = 1) r ON $Band")
      val jobs = descriptions(startedJobs {
        val error = intercept[Exception](cancelled(df.collect()))
        // Spark 3.5 may tell that several stages have failed.
        assert((error +: error.getSuppressed).exists(_.toString.contains(" cancelled")), error)
      })
      assert(jobs.size == 1 && jobs.head.contains("whether a side is small"), jobs)
    }
  }
}

object DeferShuffleSuite {

  /** How many rows a filter was asked for. */
  private val asked = new java.util.concurrent.atomic.AtomicInteger
}
