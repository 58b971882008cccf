// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}

/** For tests of the jobs of Spark that a query starts. */
trait JobsTest extends RangeJoinTest {

  /** The jobs that a block starts, and no other: they are told of a little later. */
  protected def startedJobs(block: => Unit): Seq[SparkListenerJobStart] = {
    val sc = spark.sparkContext
    val started = new ConcurrentLinkedQueue[SparkListenerJobStart]
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = started.add(job)
    }
    sc.listenerBus.waitUntilEmpty()
    sc.addSparkListener(listener)
    try {
      block
      sc.listenerBus.waitUntilEmpty()
    } finally sc.removeSparkListener(listener)
    started.asScala.toVector
  }

  /** What is said of the jobs of which something is said. */
  protected def descriptions(jobs: Seq[SparkListenerJobStart]): Seq[String] =
    jobs.flatMap(job => Option(job.properties.getProperty(SparkContext.SPARK_JOB_DESCRIPTION)))

  /** Runs a block, and cancels all jobs soon after it has begun the first one of its own. */
  protected def cancelled[T](block: => T): T = {
    val sc = spark.sparkContext
    val (begun, ended) = (new CountDownLatch(1), new CountDownLatch(1))
    val listener = new SparkListener {
      override def onJobStart(job: SparkListenerJobStart): Unit = begun.countDown()
    }
    val cancelling = new Thread(() => {
      begun.await()
      ended.await(300, MILLISECONDS)
      sc.cancelAllJobs()
    })
    // Of jobs before, too, it is told a little later.
    sc.listenerBus.waitUntilEmpty()
    sc.addSparkListener(listener)
    cancelling.start()
    try block
    finally {
      Seq(begun, ended).foreach(_.countDown())
      cancelling.join()
      sc.removeSparkListener(listener)
    }
  }
}
