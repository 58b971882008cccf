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
