// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}
import java.util.concurrent.locks.LockSupport
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd, SparkListenerJobStart}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}

import org.scalatest.tagobjects.Slow

/** What is run to choose the buckets of a join, also where its sides have such joins in them. */
class RangePartitioningJobsSuite extends SmallSidesTest {

  test("the sample of a join above waits for nothing, and measures nothing") {
    views()
    val few = "(SELECT * FROM r WHERE id % 50 = 1)"
    for (x <- Seq(
        s"SELECT l.id, r.p FROM l LEFT JOIN $few r ON $Band",
        s"SELECT * FROM l WHERE p > (SELECT count(*) FROM l LEFT JOIN $few r ON $Band)"))
      withConf(Sizes: _*) {
        def query = sql(s"SELECT x.id FROM ($x) x JOIN l y ON y.p BETWEEN x.p AND x.p + 50")
        val df = query
        assert(executedPlan(df).toString.contains("Probe"), executedPlan(df))
        val above = bucketNodes(df).head.partitioning
        for (isOwner <- Seq(true, false)) {
          val sampled = above.boundsOf(isOwner)
          assert(collectWithSubqueries(sampled) { case w: DeferShuffleExec => w }.isEmpty, sampled)
        }
        assertAsStock(df, query)
      }
  }

  test("samples of joins within joins: as many as there are joins", Slow) {
    views()
    def chain(joins: Int) = sql((1 to joins).foldLeft("SELECT r0.id FROM r r0") { (text, i) =>
      s"$text JOIN r r$i ON r$i.p BETWEEN r${i - 1}.p AND r${i - 1}.p + 1"
    })
    for (adaptive <- Seq("true", "false"))
      withConf(
        SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive,
        SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
        InternalConf.RangePartitioningThreshold.key -> "1",
        // These run shuffles of a sample as jobs of their own.
        RangeJoinConf.Skew.key -> "false"
      ) {
        val samples = for (joins <- 2 to 5) yield {
          val df = chain(joins)
          val started = startedJobs(df.collect())
          assert(bucketNodes(df).size == 2 * joins, executedPlan(df))
          descriptions(started).count(_.contains("bounds of"))
        }
        assert(samples == (2 to 5))
      }
  }

  test("no sample is planned in a thread that broadcasts of the sample may wait for") {
    views()
    object Planning extends SparkStrategy {
      val threads = new java.util.concurrent.ConcurrentLinkedQueue[String]
      override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
        if (SamplePlan.isPlanningSample) threads.add(Thread.currentThread.getName)
        Nil
      }
    }
    val before = spark.experimental.extraStrategies
    for (adaptive <- Seq("true", "false")) withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive,
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
      Buckets -> "5") {
      def query = sql(s"""SELECT /*+ BROADCAST(x) */ count(*), sum(x.id) FROM r AS y JOIN
        (SELECT /*+ BROADCAST(s) */ l.id, l.p FROM l JOIN r AS s ON l.id = s.id JOIN r ON $Band) x
        ON y.id = x.id""")
      spark.experimental.extraStrategies = Planning +: before
      try {
        Planning.threads.clear()
        val df = query
        assertAsStock(df, query)
        assert(bucketNodes(df).size == 2, executedPlan(df))
      } finally spark.experimental.extraStrategies = before
      assert(!Planning.threads.isEmpty)
      assert(Planning.threads.asScala.forall(!_.startsWith("broadcast-exchange")), Planning.threads)
    }
  }

  test("a query whose sample has failed, or was cancelled, can be run again", Slow) {
    views()
    val static = Seq(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1")
    for {
      generated <- Seq("true", "false")
      side <- Seq("l", "r")
      isCancelled <- Seq(false, true)
    } withConf(static ++ Seq(
      Buckets -> "5",
      SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> generated): _*) {
      spark.udf.register("failing", (p: Long) => p)
      def query = sql(s"""SELECT l.id, count(*) FROM
        (SELECT id, ${if (side == "l") "failing(p) AS p" else "p"} FROM l) l JOIN
        (SELECT ${if (side == "r") "failing(p) AS p" else "p"} FROM r) r ON $Band GROUP BY l.id""")
      val expected = rowsOfStock(query)
      spark.udf.register("failing", FailingFunction.function)
      FailingFunction.seconds = if (isCancelled) 30 else 0
      val df = query
      assert(bucketNodes(df).size == 2, executedPlan(df))
      val jobs = startedJobs {
        val error =
          intercept[Exception](if (isCancelled) cancelled(rows(df)) else rows(df)).toString
        assert(error.contains(if (isCancelled) " cancelled" else "not yet"), error)
      }
      // The sample: for the other side it is not tried again.
      assert(jobs.size == 1)
      FailingFunction.seconds = -1
      for (_ <- 1 to 2) assertSameRows(rows(df), expected, executedPlan(df).toString)
    }
  }

  /** A sample is the first thing that a join without keys does. */
  private val Sampling = Seq(
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
    InternalConf.DeferShuffle.key -> "false",
    InternalConf.WriteOnce.key -> "false",
    Buckets -> "5"
  )

  /** Runs a query whose sample takes half a minute; returns its error, and that of the job of its sample. */
  private def whileSampling(query: => DataFrame)(meanwhile: => Unit): (Throwable, String) = {
    FailingFunction.seconds = 30
    spark.udf.register("slow", FailingFunction.function)
    val (sampling, ended) = (new ConcurrentHashMap[Int, String], new CountDownLatch(1))
    FailingFunction.begun = new CountDownLatch(1)
    FailingFunction.ended = ended
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit =
        if (descriptions(Seq(job)).exists(_.contains("bounds of"))) {
          sampling.put(job.jobId, "")
          FailingFunction.begun.countDown()
        }
      override def onJobEnd(job: SparkListenerJobEnd): Unit =
        if (sampling.containsKey(job.jobId)) {
          sampling.put(job.jobId, job.jobResult.toString)
          ended.countDown()
        }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      val error = withConf(Sampling: _*) {
        val df = query
        assert(bucketNodes(df).size == 2, executedPlan(df))
        meanwhile
        intercept[Throwable](df.collect())
      }
      assert(hasEnded(ended))
      (error, only(sampling.values.asScala.toSeq))
    } finally {
      spark.sparkContext.removeSparkListener(listener)
      FailingFunction.seconds = -1
    }
  }

  /** Waits for a minute at most, whoever interrupts. */
  private def hasEnded(latch: CountDownLatch): Boolean = {
    val until = System.nanoTime + SECONDS.toNanos(60)
    while (latch.getCount > 0 && System.nanoTime < until) {
      LockSupport.parkNanos(MILLISECONDS.toNanos(100))
      Thread.interrupted()
    }
    latch.getCount == 0
  }

  private val Sampled =
    s"SELECT l.id FROM (SELECT id, IF(id = 1, slow(p), p) AS p FROM l) l JOIN r ON $Band"

  /** Whether stages are prepared beside each other, and beside the thread of the query: 3.5 has one after the other. */
  private val preparesApart =
    classOf[ShuffleExchangeLike].getMethods.exists(_.getName == "cancelShuffleJob")

  testWhere(preparesApart)(
    "samples of joins that do not depend on each other are drawn at a time") {
    views()
    FailingFunction.meeting = new CountDownLatch(2)
    spark.udf.register("meets", FailingFunction.meets)
    def query = sql(Seq("l", "r").map(table => s"""SELECT l.id FROM
      (SELECT id, IF(id = 1, meets(p), p) AS p FROM $table) l JOIN r ON $Band""").mkString(
      " UNION ALL "))
    withConf(Sampling: _*) {
      val df = query
      assert(bucketNodes(df).size == 4, executedPlan(df))
      assertAsStock(df, query)
    }
  }

  testWhere(preparesApart)("a sample ends when another stage of its query fails") {
    views()
    spark.udf.register(
      "failing",
      (id: Long) => { FailingFunction.begun.await(60, SECONDS); sys.error(s"soon $id"): Long })
    val (error, job) = whileSampling(sql(
      s"SELECT g FROM (SELECT failing(id) AS g, count(*) FROM l GROUP BY 1) UNION ALL $Sampled"))(
      ())
    val messages = causes(error).mkString
    assert(messages.contains("soon"), messages)
    assert(job.contains(" cancelled"), job)
  }

  testWhere(preparesApart)("a sample ends when the thread of its query is interrupted") {
    views()
    val query = Thread.currentThread
    // Where the thread that samples has come first, Spark's waits for the lock of the shuffle, and hears nothing.
    @volatile var isBlocked = false
    val (_, job) = whileSampling(sql(Sampled)) {
      val interrupting = new Thread(() => {
        FailingFunction.begun.await(60, SECONDS)
        // What the thread is at may take one interrupt for its own.
        while (!FailingFunction.ended.await(500, MILLISECONDS)) {
          isBlocked |= query.getState == Thread.State.BLOCKED
          query.interrupt()
        }
      })
      interrupting.start()
    }
    Thread.interrupted()
    val isCancelled = job.contains(" cancelled")
    assume(isCancelled || !isBlocked)
    assert(isCancelled, job)
  }

  test("an interrupt that ends a sample is not lost") {
    views()
    withConf(Sampling: _*) {
      def query = sql(s"SELECT l.id FROM l JOIN r ON $Band")
      val df = query
      val partitioning = bucketNodes(df).head.partitioning
      Thread.currentThread.interrupt()
      intercept[InterruptedException](partitioning.get())
      assert(partitioning.layout.isEmpty)
      assertAsStock(df, query)
    }
  }
}
