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

package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings

/** Heavy keys in plans that are not adaptive, where such plans are unlike others. */
class CutHeavyKeysSuite extends KeyedSpreadTest {

  private val Band = "l.k = r.k AND r.p BETWEEN l.p - 20 AND l.p + 20"

  /** Sixteen tasks, and no partition too small to be looked at. */
  private val Static: Settings = Seq(
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
    SQLConf.SHUFFLE_PARTITIONS.key -> "16",
    SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM.key -> "16",
    SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE.key -> "1b",
    RangeJoinConf.SpreadKeysThreshold.key -> "1b"
  )

  /** Half of the rows of tables `l` and `r` have the same key. */
  private def views(rows: Int): Unit =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5))
      spark.range(1, rows + 1L, 1, 4)
        .selectExpr(
          "id",
          "int(IF(id % 2 = 0, 0, id % 500)) AS k",
          s"pmod(hash(id, $seed), 40000) AS p")
        .createOrReplaceTempView(name)

  private def sql(text: String): DataFrame = spark.sql(text)

  private def stock(text: String): Seq[String] = withConf(Flag -> "false")(rows(sql(text)))

  private def ran(text: String): DataFrame = {
    val expected = stock(text)
    withConf(Static: _*) {
      val df = sql(text)
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      df
    }
  }

  private def prepared(df: DataFrame): Seq[CutHeavyKeysExec] =
    collect(executedPlan(df)) { case node: CutHeavyKeysExec => node }

  test("a repartition that the join has made superfluous is not undone") {
    views(4000)
    withConf(Static: _*) {
      def join = sql(s"SELECT l.id, l.k, l.p FROM l LEFT SEMI JOIN r ON $Band")
      def isCut(df: DataFrame) = {
        val keys = execution(df).toRdd.mapPartitions(_.map(_.getInt(1)).toSet.iterator).collect()
        assert((keys.distinct.length < keys.length) == shuffles(df).nonEmpty, executedPlan(df))
        shuffles(df).nonEmpty
      }
      val k = col("k")
      assert(isCut(join))
      assert(!isCut(join.repartition(k)))
      assert(!isCut(join.where("id > 9").repartition(k).select("p", "k").where("p > 9")))
      // One that Spark has left in the plan.
      val apart = join.repartition(7, k)
      assert(rows(apart).size == rows(join).size && shuffles(apart).size == 2, executedPlan(apart))
    }
  }

  test("a query that has failed, or was cancelled, can be run again") {
    views(1000)
    val text = s"SELECT l.id, r.id FROM (SELECT id, k, failing(p) AS p FROM l) l JOIN r ON $Band"
    val sc = spark.sparkContext
    for (query <- Seq(
        text,
        s"SELECT other, count(*) FROM (${text.replace("r.id", "r.id AS other")}) GROUP BY other"))
      for (isCancelled <- Seq(false, true)) withConf(Static: _*) {
        spark.udf.register("failing", (p: Long) => p)
        val expected = stock(query)
        spark.udf.register("failing", CutHeavyKeysSuite.failing)
        CutHeavyKeysSuite.seconds = if (isCancelled) 30 else 0
        val df = sql(query)
        val cancelling = new Thread(() => {
          while (sc.statusTracker.getActiveJobIds().isEmpty) Thread.sleep(10)
          Thread.sleep(300)
          sc.cancelAllJobs()
        })
        if (isCancelled) cancelling.start()
        val jobs = startedJobs {
          val error = intercept[Exception](rows(df)).toString
          assert(error.contains(if (isCancelled) "SPARK_JOB_CANCELLED" else "not yet"), error)
        }
        assert(jobs == 1)
        cancelling.join()
        CutHeavyKeysSuite.seconds = -1
        for (_ <- 1 to 2) assertSameRows(rows(df), expected, executedPlan(df).toString)
        assert(
          prepared(df).forall(_.simpleString(100).contains("not cut: the shuffles have failed")))
      }
  }

  /** How many jobs a block starts. */
  private def startedJobs(block: => Unit): Int = {
    val count = new java.util.concurrent.atomic.AtomicInteger
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = count.incrementAndGet()
    }
    spark.sparkContext.addSparkListener(listener)
    try block
    finally {
      spark.sparkContext.listenerBus.waitUntilEmpty()
      spark.sparkContext.removeSparkListener(listener)
    }
    count.get
  }

  test("of many joins, those are prepared that may be") {
    views(1000)
    val free = s"SELECT l.p AS a, r.id AS b FROM l JOIN r ON $Band"
    val byKey = s"SELECT l.k AS a, count(*) AS b FROM l JOIN r ON $Band GROUP BY l.k"
    for (kinds <- Seq("ff", "kf", "fkf", "kk", "fkkfkff")) {
      val text = kinds.map(kind => if (kind == 'f') free else byKey).mkString(" UNION ALL ")
      val df = ran(text)
      assert(shuffles(df).size == 2 * kinds.count(_ == 'f'), executedPlan(df))
      assert(rangeJoins(df).size == kinds.length)
    }
    val nested = s"""SELECT l.id, m.id FROM ($free) x
      JOIN l ON l.id = x.b AND l.p BETWEEN x.a - 900 AND x.a + 900
      JOIN (SELECT k, count(*) AS id FROM l GROUP BY k) m ON m.k = l.k"""
    assert(shuffles(ran(nested)).size >= 2)
  }
}

object CutHeavyKeysSuite {

  /** How long a row takes before it fails; below 0, none does. */
  @volatile private var seconds = -1

  private val failing = (p: Long) => {
    for (_ <- 1 to seconds * 10) {
      if (org.apache.spark.TaskContext.get().isInterrupted()) throw new InterruptedException
      Thread.sleep(100)
    }
    if (seconds >= 0) sys.error("not yet")
    p
  }
}
