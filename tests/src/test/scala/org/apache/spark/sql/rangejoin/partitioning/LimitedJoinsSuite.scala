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

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.duration.Duration

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.RDDScanExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.functions.{count, expr, lit, udf}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.types.{DataType, LongType, StructType}
import org.apache.spark.sql.{DataFrame, Observation, Row}

import org.scalatest.tagobjects.Slow

/** Joins without keys of which a limit reads a few rows. */
class LimitedJoinsSuite extends SmallSidesTest {

  private val Dense = "r.p >= l.p"
  private val Patient = Sizes :+ (RangeJoinConf.FirstRowsTimeout.key -> "60s")

  /** Runs a query that a limit ends, and checks that its rows are some of all. */
  private def ran(from: String, settings: (String, String)*)(most: Int): DataFrame =
    withConf(Patient ++ settings: _*) {
      val all = withConf(Flag -> "false")(rows(sql(s"SELECT l.id + 0, r.id, r.p FROM $from")))
      val df = sql(s"SELECT l.id + 0, r.id, r.p FROM $from LIMIT $most")
      for (_ <- 1 to 2) {
        val found = rows(df)
        assert(found.size == math.min(most, all.size), executedPlan(df))
        assert(found.diff(all).isEmpty, executedPlan(df))
      }
      df
    }

  private def isOfSpark(df: DataFrame): Boolean = {
    assert(nodes[ProbeExec](df).isEmpty && nodes[DeferShuffleExec](df).isEmpty, executedPlan(df))
    val products = collect(executedPlan(df)) { case product: CartesianProductExec => product }
    assert(products.isEmpty == (bucketNodes(df).size == 2), executedPlan(df))
    products.nonEmpty
  }

  /** How many rows of a join have been kept since it was tried. */
  private def kept(df: DataFrame): Option[Int] =
    nodes[FirstRowsExec](df).flatMap(n => n.firstRows.rowsOf(n.output)).map(_.length).headOption

  /** A function of a number that takes time, and returns this, while the suite is slow. */
  private def registerSlow(name: String, millis: Long, whenSlow: Boolean): Unit =
    spark.udf.register(
      name,
      udf((id: Long) =>
        if (LimitedJoinsSuite.isSlow) { Thread.sleep(millis); whenSlow }
        else id >= 0))

  private def slowly[T](block: => T): T = {
    LimitedJoinsSuite.isSlow = true
    try block
    finally LimitedJoinsSuite.isSlow = false
  }

  test("rows that stock Spark's join finds at once are not shuffled for") {
    views()
    for (most <- Seq(1, 5)) {
      assert(isOfSpark(ran(s"l JOIN r ON $Dense")(most)))
      assert(isOfSpark(ran(s"l JOIN (SELECT * FROM r WHERE g <> 3) r ON $Dense")(most)))
      assert(isOfSpark(ran(s"(SELECT * FROM l WHERE g < 4) l JOIN r ON $Band")(most)))
    }
    // Once what is below a shuffle has been done.
    val grouped = "(SELECT id, max(p) AS p FROM l GROUP BY id)"
    assert(isOfSpark(ran(s"$grouped l JOIN r ON $Dense")(5)))
    val df = ran(s"l JOIN r ON $Dense")(5)
    assert(only(JoinReports.of(executedPlan(df))).reason.contains(Reason.FirstRows))
    assert(kept(df).contains(5))
    assert(nodes[FirstRowsExec](df).head.metrics("numOutputRows").value == 5)
  }

  test("a join that has been tried is not run again for the same rows") {
    views()
    val read = spark.sparkContext.longAccumulator
    spark.udf.register("counted", udf((id: Long) => { read.add(1); id >= 0 }))
    val counted = s"l JOIN r ON $Dense AND counted(l.id + r.id)"
    withConf(Patient :+ (RangeJoinConf.WriteOnce.key -> "false"): _*) {
      val df = sql(s"SELECT l.id, r.id FROM $counted LIMIT 3")
      assert(df.collect().length == 3 && isOfSpark(df) && kept(df).contains(3))
      val once = read.value
      assert(once >= 3 && once < 400)
      assert(df.collect().length == 3 && read.value == once)
    }
  }

  test("a limit below other operators, in a subquery and in a write") {
    views()
    for (adaptive <- Seq("true", "false"))
      withConf(Patient :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive): _*) {
        val limited = s"SELECT l.id, r.id AS b, r.p FROM l JOIN r ON $Dense LIMIT 7"
        def isQuick(df: DataFrame): Boolean =
          nodes[FirstRowsExec](df).exists(_.firstRows.answer.contains(true))
        def checked(query: String, expected: Row): Unit = {
          val df = sql(query)
          assert(df.collect().toSeq == Seq(expected) && isQuick(df), executedPlan(df))
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

  test("below other operators the rows of a limit that are not kept are found by buckets") {
    views()
    spark.sql(s"SELECT id, p, repeat('x', ${FirstRows.MostBytes / 4}) AS x FROM l")
      .localCheckpoint().createOrReplaceTempView("wide")
    for (adaptive <- Seq("true", "false"))
      withConf(Patient :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive): _*) {
        for ((most, isKept) <- Seq(3 -> true, 4 -> false)) {
          val df = sql(
            s"SELECT count(*), sum(length(x)) FROM (SELECT l.x, r.id FROM wide l JOIN r ON $Dense LIMIT $most)")
          assert(df.head() == Row(most.toLong, most * (FirstRows.MostBytes / 4).toLong))
          assert(df.collect().length == 1 && kept(df).nonEmpty == isKept, executedPlan(df))
        }
      }
  }

  test("rows of a tried join in what is above a limit", Slow) {
    views()
    withConf(Patient: _*) {
      def checked(query: String, most: Int): Unit = {
        val join = s"SELECT l.id, r.id AS b, l.p, r.p AS q FROM l JOIN r ON $Dense"
        val all = withConf(Flag -> "false")(rows(sql(join))).toSet
        val df = sql(query.format(join))
        df.write.mode("overwrite").saveAsTable("limited")
        val found = rows(spark.table("limited"))
        assert(found.size == most && found.forall(all))
        val collected = rows(df)
        assert(collected.size == most && collected.forall(all) && kept(df).nonEmpty)
      }
      try {
        checked("%s LIMIT 7", 7)
        checked("%s LIMIT 7 OFFSET 2", 7)
        checked("SELECT id, b, p, q FROM (SELECT *, rand() AS x FROM (%s)) LIMIT 4", 4)
        checked(
          "SELECT id, b, p, least(q, q + x) AS q FROM (SELECT *, 3 AS x FROM (%s)) LIMIT 4",
          4)
        val limited = sql(s"SELECT l.id, r.id AS b FROM l JOIN r ON $Dense LIMIT 6").cache()
        try assert(limited.count() == 6 && limited.distinct().count() == 6)
        finally limited.unpersist()
      } finally spark.sql("DROP TABLE IF EXISTS limited")
    }
  }

  test("rows of many bytes are not kept, and found without a limit of time", Slow) {
    views()
    registerSlow("atTimes", millis = 50, whenSlow = true)
    spark.sql(s"SELECT id, p, repeat('x', ${FirstRows.MostBytes / 16}) AS x FROM l WHERE id <= 100")
      .coalesce(1).localCheckpoint().createOrReplaceTempView("wide1")
    val in1 = "(SELECT /*+ COALESCE(1) */ * FROM r)"
    for (adaptive <- Seq("true", "false"))
      withConf(Patient ++ Seq(
        RangeJoinConf.FirstRowsTimeout.key -> "300ms",
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive): _*) {
        val df =
          sql(s"SELECT l.id, l.x, r.id FROM wide1 l JOIN $in1 r ON $Band AND atTimes(l.id + r.id) LIMIT 20")
        assert(df.collect().length == 20 && kept(df).isEmpty, executedPlan(df))
        slowly(assert(df.collect().length == 20))
      }
    spark.sql(s"SELECT id, p, repeat('x', ${FirstRows.MostBytes / 4}) AS x FROM l")
      .localCheckpoint().createOrReplaceTempView("wide")
    withConf(Patient: _*) {
      for ((most, isKept) <- Seq(3 -> true, 4 -> false)) {
        val df = sql(s"SELECT l.id, l.x, r.id FROM wide l JOIN r ON $Dense LIMIT $most")
        assert(df.collect().length == most && isOfSpark(df) && kept(df).nonEmpty == isKept)
      }
    }
  }

  test("rows that it does not find in its first task, or not in time, are found by buckets") {
    views()
    assert(!isOfSpark(ran("l JOIN r ON r.p BETWEEN l.p + 5000 AND l.p + 5004")(5)))
    val late = "l JOIN r ON r.p BETWEEN l.p + 990 AND l.p + 995"
    assert(!isOfSpark(ran(late, RangeJoinConf.FirstRowsTimeout.key -> "1ms")(5)))
    assert(isOfSpark(ran(late)(5)))
    // More than all pairs.
    assert(!isOfSpark(ran(s"l JOIN r ON $Band")(1000000)))
  }

  test("a side whose rows take long is waited for, and what compares them is not", Slow) {
    views()
    spark.udf.register("slowly", udf((id: Long) => { Thread.sleep(2); id >= 0 }))
    val slow = "(SELECT * FROM %s WHERE slowly(id))"
    for (writeOnce <- Seq("true", "false"); (l, r) <- Seq("l" -> slow, slow -> "r")) {
      val settings =
        Seq(RangeJoinConf.FirstRowsTimeout.key -> "100ms", RangeJoinConf.WriteOnce.key -> writeOnce)
      val joined = s"${l.format("l")} l JOIN ${r.format("r")} r ON $Dense"
      assert(isOfSpark(ran(joined, settings: _*)(5)))
    }
    val side = spark.range(0, 40, 1, 1).queryExecution.executedPlan
    def each(rows: RDD[InternalRow]) = rows.mapPartitions(_.map { row => Thread.sleep(10); row })
    val slowSide = RDDScanExec(side.output, each(side.execute()), "slow")
    assert(TimedSideExec(100, slowSide).execute().count() == 40)
    val some = each(TimedSideExec(100, side).execute()).count()
    assert(some >= 1 && some <= 12)
  }

  test("tasks are run until there are enough rows, or too few of them") {
    val read = spark.sparkContext.longAccumulator
    val columns = toAttributes(new StructType().add("x", LongType))
    def found(most: Int, ofEach: Int, timeout: Long): (Option[Int], Long) = {
      read.reset()
      val firstRows = new FirstRows(most, timeout, mayRunAgain = true)
      val rows = spark.sparkContext.parallelize(0 until 100, 100).mapPartitions { _ =>
        read.add(1)
        Thread.sleep(5)
        val project = UnsafeProjection.create(Array[DataType](LongType))
        Iterator.range(0, ofEach).map(i => project(InternalRow(i.toLong)): InternalRow)
      }
      firstRows.ask(rows, Duration.Inf, columns)
      val kept = firstRows.rowsOf(columns).map(_.length)
      assert(firstRows.answer.contains(kept.isDefined))
      (kept, read.value)
    }
    assert(found(most = 3, ofEach = 3, timeout = 0) == ((Some(3), 1)))
    // 1, 4 and 2 tasks.
    assert(found(most = 6, ofEach = 1, timeout = 60000) == ((Some(6), 7)))
    assert(found(most = 6, ofEach = 0, timeout = 60000) == ((None, 100)))
    assert(found(most = 6, ofEach = 0, timeout = 1) == ((None, 1)))
    assert(found(most = 60000, ofEach = 1, timeout = 1) == ((None, 1)))
    assert(found(most = 101, ofEach = 1, timeout = 60000) == ((None, 100)))
  }

  test("without adaptive execution it is tried when rows are asked for") {
    views()
    def tried(from: String, settings: (String, String)*)(most: Int): DataFrame = {
      val all = settings :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")
      val df = ran(from, all: _*)(most)
      assert(nodes[FirstRowsExec](df).size == 1 && bucketNodes(df).size == 2, executedPlan(df))
      df
    }
    def isQuick(df: DataFrame): Boolean = {
      val quick = nodes[FirstRowsExec](df).head.firstRows.answer.contains(true)
      // Then nothing is sampled or shuffled.
      val partitioning = bucketNodes(df).head.partitioning
      assert(quick == partitioning.layout.isEmpty, executedPlan(df))
      val written = nodes[ShuffleExchangeExec](df)
        .filter(exchange => RangeBucketExec.below(exchange).isDefined)
        .map(_.metrics("shuffleRecordsWritten").value)
      assert(written.size == 2 && (!quick || written.forall(_ == 0)), executedPlan(df))
      quick
    }
    assert(isQuick(tried(s"l JOIN r ON $Dense")(5)))
    assert(isQuick(tried(s"(SELECT id, max(p) AS p FROM l GROUP BY id) l JOIN r ON $Dense")(5)))
    assert(isQuick(
      tried(s"(SELECT DISTINCT a.id, a.p FROM l a JOIN r b ON a.id = b.id) l JOIN r ON $Dense")(5)))
    val timeout = RangeJoinConf.FirstRowsTimeout.key -> "1ms"
    assert(!isQuick(tried("l JOIN r ON r.p BETWEEN l.p + 990 AND l.p + 995", timeout)(5)))
    assert(!isQuick(tried(s"l JOIN r ON $Band AND (l.id + r.id) % 500 = 3", timeout)(50)))
    val df = tried(s"l JOIN r ON $Dense")(5)
    assert(only(JoinReports.of(executedPlan(df))).reason.contains(Reason.FirstRows))
    val notYet = withConf(Patient :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false"): _*) {
      executedPlan(sql(s"SELECT l.id, r.id FROM l JOIN r ON $Dense LIMIT 5"))
    }
    assert(only(JoinReports.of(notYet)).reason.isEmpty)
  }

  test("an observed side, and a timeout that is no duration") {
    views()
    for (adaptive <- Seq("true", "false"))
      withConf(Patient :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive): _*) {
        val seen = Observation()
        val observed = spark.table("l").observe(seen, count(lit(1)).as("n")).as("l")
        val joined = observed.join(spark.table("r").as("r"), expr(Dense)).limit(5)
        assert(joined.collect().length == 5 && seen.get("n").asInstanceOf[Long] >= 1)
        for (timeout <- Seq("-1", "10000000000", "0"))
          withConf(SQLConf.BROADCAST_TIMEOUT.key -> timeout) {
            assert(sql(s"SELECT l.id, r.id FROM l JOIN r ON $Dense LIMIT 5").collect().length == 5)
          }
      }
  }

  test("a query that is cancelled while its join is tried can be run again") {
    views()
    registerSlow("slowlyNone", millis = 10, whenSlow = false)
    withConf(Patient :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false"): _*) {
      val df = sql(s"SELECT l.id, r.id FROM l JOIN r ON $Band AND slowlyNone(l.id + r.id) LIMIT 5")
      val jobs = descriptions(startedJobs(slowly {
        assert(intercept[Exception](cancelled(df.collect())).toString.contains(" cancelled"))
      }))
      assert(jobs.size == 1 && jobs.head.contains("whether the rows of a limit"), jobs)
      assert(df.collect().length == 5 && kept(df).contains(5))
    }
  }

  test("what is not tried", Slow) {
    views()
    assert(!isOfSpark(ran(s"l JOIN r ON $Dense", RangeJoinConf.FirstRowsTimeout.key -> "0")(5)))
    assert(!isOfSpark(ran(s"l JOIN r ON $Dense", RangeJoinConf.DeferShuffle.key -> "false")(5)))
    assert(!isOfSpark(ran(s"l JOIN r ON $Dense", SQLConf.EXCHANGE_REUSE_ENABLED.key -> "false")(5)))
    assert(!isOfSpark(ran(s"l LEFT JOIN r ON $Band")(5)))
    withConf(Patient: _*) {
      def isBucketed(query: String): Boolean = {
        val df = sql(query)
        assertSameRows(rows(df), withConf(Flag -> "false")(rows(sql(query))), query)
        !isOfSpark(df)
      }
      assert(isBucketed(s"SELECT count(*) FROM l JOIN r ON $Dense LIMIT 5"))
      assert(isBucketed(
        s"SELECT count(*) FROM (SELECT l.id, count(*) FROM l JOIN r ON $Dense GROUP BY l.id LIMIT 5)"))
      assert(isBucketed(s"SELECT l.id, r.id FROM l JOIN r ON $Dense ORDER BY 1, 2 LIMIT 5"))
      val hinted = sql(s"SELECT /*+ RANGE_JOIN(r) */ l.id, r.id FROM l JOIN r ON $Dense LIMIT 5")
      assert(hinted.collect().length == 5 && !isOfSpark(hinted))
    }
  }

  test("an error of a row is that of the query") {
    views()
    withConf(Patient :+ (SQLConf.ANSI_ENABLED.key -> "true"): _*) {
      val query = s"SELECT l.id, r.id FROM l JOIN (SELECT * FROM r WHERE 1 / (id - 1) < 2) r " +
        s"ON $Dense LIMIT 5"
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        assert(intercept[Exception](sql(query).collect()).toString.contains("DIVIDE_BY_ZERO"))
      }
    }
  }
}

object LimitedJoinsSuite {

  /** Whether the functions of tests take long; for tasks, which are in the same JVM. */
  @volatile var isSlow: Boolean = false
}
