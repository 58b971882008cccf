// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicLong
import java.util.concurrent.{CountDownLatch, FutureTask}

import scala.concurrent.duration._
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Try

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.{SparkEnv, SparkException, TaskContext, TaskContextImpl, TaskKilled}

/**
 * How a join ends: at its end, early, with an error, cancelled. In every case its memory is given
 * back and its files are gone; the session runs with Spark's leak check on, which fails a task that
 * keeps memory.
 */
class LifecycleSuite extends RangeJoinTest {
  import LifecycleSuite._
  import PlanForm._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Spilled, Shuffled, ShuffledAndSorted)

  private def rowsOfOneKey(n: Int): DataFrame =
    spark.range(0, n, 1, 2).select(
      col("id").mod(1).cast("int").as("k"),
      col("id").cast("int").as("t"),
      col("id")
    )

  private def skewedKey(n: Int, residual: String): DataFrame = {
    spark.udf.register("observed", (a: Long, b: Long) => observe(a, b))
    rowsOfOneKey(n).as("l").join(
      rowsOfOneKey(n).as("r"),
      expr(s"l.k = r.k and r.t between l.t - 50000 and l.t + 50000 and $residual")
    )
      .select("l.id", "r.id")
  }

  private def underBothEngines(test: => Unit): Unit =
    for (engine <- bothEngines) withConf(engine: _*)(test)

  /** Files of windows and of sorts; those of shuffles have other names. */
  private def spillFiles: Seq[String] =
    SparkEnv.get.blockManager.diskBlockManager.getAllFiles().map(_.getName)
      .filter(_.startsWith("temp_local_"))

  private def assertNothingLeft(): Unit = {
    // A killed task gives back its memory when its thread ends, which is after the job has.
    val memory = SparkEnv.get.memoryManager
    val deadline = 20.seconds.fromNow
    def isClean = memory.executionMemoryUsed == 0 && spillFiles.isEmpty
    while (!isClean && deadline.hasTimeLeft()) Thread.sleep(20)
    assert(memory.executionMemoryUsed == 0)
    assert(spillFiles.isEmpty)
  }

  test("rows of a skewed key reach the consumer one by one") {
    underBothEngines {
      evaluated.set(0)
      val df = skewedKey(3000, "observed(l.id, r.id)")
      assert(plannedJoins(df) == 1)
      val seen = execution(df).toRdd.mapPartitions { rows =>
        if (rows.hasNext) {
          rows.next()
          Iterator(evaluated.get())
        } else Iterator.empty
      }.collect()
      // One evaluation for the first row; one more may have been made to look ahead.
      assert(
        seen.length == 1 && seen.head <= 2,
        s"${seen.mkString(", ")} ${evaluated.get()}\n${executedPlan(df)}"
      )
      assertNothingLeft()
    }
  }

  test("a join that ends early leaves nothing behind") {
    underBothEngines {
      assert(skewedKey(1000, "true").limit(5).collect().length == 5)
      assertNothingLeft()
      val iterator = skewedKey(1000, "true").toLocalIterator()
      iterator.next()
      assertNothingLeft()
    }
  }

  test("a fused LIMIT stops the scan") {
    withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
      "spark.sql.limit.scaleUpFactor" -> "1"
    ) {
      evaluated.set(0)
      val df = skewedKey(2000, "observed(l.id, r.id)").limit(10).repartition(1)
      assert(df.collect().length == 10)
      assert(evaluated.get() < 100, "the scan went on after the last row that was asked for")
    }
  }

  test("rows may be asked for by a thread that knows nothing of the task") {
    underBothEngines {
      // More rows of a key than the first ones that are looked at.
      val df = rowsOfOneKey(3000).as("l").join(
        rowsOfOneKey(3000).as("r"),
        expr("l.k = r.k and r.t between l.t - 1 and l.t + 1"))
      assert(plannedJoins(df) == 1)
      val counts = df.queryExecution.toRdd.mapPartitions { rows =>
        val counting = new FutureTask[Int](() => rows.size)
        new Thread(counting).start()
        Iterator(counting.get())
      }.collect()
      assert(counts.sum == 3 * 3000 - 2)
      assertNothingLeft()
    }
  }

  test("an error in the residual fails the query with its own message and leaks nothing") {
    underBothEngines {
      val error = intercept[Exception](skewedKey(3000, "observed(l.id, r.id - 100000)").collect())
      assert(causes(error).exists(_.getMessage.contains(Refused)), error)
      assertNothingLeft()
    }
  }

  test("an error of the input fails the query and leaks nothing") {
    underBothEngines {
      val broken = rowsOfOneKey(500).select(
        col("k"),
        expr("if(t = 499, raise_error('broken row'), t)").cast("int").as("t"),
        col("id")
      )
      val df = rowsOfOneKey(500).as("l")
        .join(broken.as("r"), expr("l.k = r.k and r.t between l.t - 3 and l.t + 3"))
      val error = intercept[Exception](df.collect())
      assert(error.getMessage.contains("broken row"), error)
      assertNothingLeft()
    }
  }

  test("a cancelled query ends soon and leaks nothing") {
    implicit val pool: ExecutionContext = ExecutionContext.global
    underBothEngines {
      started = new CountDownLatch(1)
      val group = s"cancelled-${evaluated.get()}"
      val df = skewedKey(3000, "observed(l.id, r.id + 100000)")
      val query = Future {
        spark.sparkContext.setJobGroup(group, "to be cancelled", interruptOnCancel = true)
        try df.count()
        finally spark.sparkContext.clearJobGroup()
      }
      assert(started.await(60, SECONDS))
      // Asked again: what was started may be a task of the query before, not yet gone.
      val deadline = 60.seconds.fromNow
      while (!query.isCompleted && deadline.hasTimeLeft()) {
        spark.sparkContext.cancelJobGroup(group)
        Thread.sleep(50)
      }
      val outcome = Try(Await.result(query, 1.second))
      assert(outcome.failed.get.isInstanceOf[SparkException], outcome)
      assertNothingLeft()
    }
  }

  test("a task that is killed is run again, with the same rows") {
    implicit val pool: ExecutionContext = ExecutionContext.global
    underBothEngines {
      started = new CountDownLatch(1)
      val killed = new AtomicLong()
      val listener = new SparkListener {
        override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
          if (end.reason.isInstanceOf[TaskKilled]) killed.incrementAndGet()
      }
      spark.sparkContext.addSparkListener(listener)
      try {
        val df = skewedKey(200, "observed(l.id, r.id + 100000)")
        slow = true
        val query = Future(df.count())
        assert(started.await(60, SECONDS))
        assert(spark.sparkContext.killTaskAttempt(slowTask, interruptThread = true))
        spark.sparkContext.listenerBus.waitUntilEmpty()
        slow = false
        assert(Await.result(query, 60.seconds) == 200L * 200)
        spark.sparkContext.listenerBus.waitUntilEmpty()
        assert(killed.get() >= 1)
      } finally {
        slow = true
        spark.sparkContext.removeSparkListener(listener)
      }
      assertNothingLeft()
    }
  }

  test("a task that is killed ends with its streamed row") {
    spark.udf.register("killing", (a: Long, b: Long) => kill(a, b))
    // Keys in any order, one of which has forty rows: these are put in order in memory.
    def side(name: String) = spark.range(0, 4000, 1, 2)
      .selectExpr("sha2(string(IF(id % 100 = 7, -1, id)), 256) AS k", "id AS t", "id").as(name)
    underBothEngines {
      for (joinType <- Seq("inner", "left", "full")) {
        evaluated.set(0)
        val condition = expr("l.k = r.k AND r.t BETWEEN l.t - 9999 AND l.t + 9999 AND " +
          "(l.id = r.id OR killing(l.id, r.id))")
        val df = side("l").join(side("r"), condition, joinType)
        assert(plannedJoins(df) == 1)
        assert(df.count() == 3960L + 40 * 40)
        assert(evaluated.get() <= 40, s"$joinType $evaluated")
      }
      assertNothingLeft()
    }
  }

  test("many small joins leave no memory and one page's worth of window each") {
    for (width <- 0 to 2; _ <- 1 to 10) {
      val df = rowsOfOneKey(200).as("l").join(
        rowsOfOneKey(200).as("r"),
        expr(s"l.k = r.k and r.t between l.t - 1 and l.t + $width")
      )
      assert(df.count() > 200)
    }
    assertNothingLeft()
  }

  testIn(Seq(Merged, Spilled))("a window that moves along a long key stays small") {
    underBothEngines {
      val df = rowsOfOneKey(40000).as("l").join(
        rowsOfOneKey(40000).as("r"),
        expr("l.k = r.k and r.t between l.t - 5 and l.t + 5")
      )
      assert(df.count() == 40000L * 11 - 30)
      val metrics = only(rangeJoins(df)).metrics
      assert(metrics("peakWindowRows").value <= 12)
      assert(metrics("peakMemory").value < 256 * 1024)
      assert(metrics("numCandidates").value == metrics("numOutputRows").value)
    }
  }
}

object LifecycleSuite {
  private val Refused = "refused by the test"

  /** Evaluations of the residual. */
  private val evaluated = new AtomicLong()
  @volatile private var started = new CountDownLatch(1)
  @volatile private var slow = true
  @volatile private var slowTask = -1L

  /** Kills the first attempt of the first task that asks, and counts what that asks afterwards. */
  private def kill(a: Long, b: Long): Boolean = {
    val task = TaskContext.get()
    if (evaluated.compareAndSet(0, 1)) {
      slowTask = task.taskAttemptId()
      task.asInstanceOf[TaskContextImpl].markInterrupted("killed by the test")
    } else if (task.taskAttemptId() == slowTask) evaluated.incrementAndGet()
    a >= 0 && b >= 0
  }

  /** Far below: an error. Far above: slow, so that the query is still running when cancelled. */
  private def observe(a: Long, b: Long): Boolean = {
    evaluated.incrementAndGet()
    if (b < -1000) throw new IllegalArgumentException(Refused)
    if (b >= 100000 && slow) {
      slowTask = TaskContext.get().taskAttemptId()
      started.countDown()
      Thread.sleep(1)
    }
    a >= 0
  }
}
