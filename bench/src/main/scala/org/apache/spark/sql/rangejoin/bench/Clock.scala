// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/** What benchmarks measure time by. */
private sealed trait Clock {

  protected def nanos(): Long

  /** Seconds that a block takes. */
  def seconds(block: => Unit): Double = {
    val begin = nanos()
    block
    (nanos() - begin) / 1e9
  }
}

private object Clock {

  /** The argument that asks for processor time. */
  val Cpu = "--cpu"

  def apply(spark: SparkSession, args: Array[String]): Clock =
    if (args.contains(Cpu)) new OfTasks(spark) else OnTheWall

  private object OnTheWall extends Clock {
    override protected def nanos(): Long = System.nanoTime()
  }

  /** What tasks take of a processor, for a machine that has other work. */
  final class OfTasks(spark: SparkSession) extends Clock {
    private val taken = new AtomicLong

    spark.sparkContext.addSparkListener(new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit =
        taken.addAndGet(end.taskMetrics.executorCpuTime)
    })

    override protected def nanos(): Long = {
      spark.sparkContext.listenerBus.waitUntilEmpty()
      taken.get
    }
  }
}
