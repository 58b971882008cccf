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

import scala.util.Try

import org.apache.spark.rdd.RDD
import org.apache.spark.{
  MapOutputTrackerMaster,
  Partition,
  ShuffleDependency,
  SparkContext,
  SparkEnv,
  TaskContext
}

/** Runs shuffles before anything reads them, to see how much there is in their partitions. */
private[rangejoin] object ShuffledBytes {

  /** A shuffle, whatever is shuffled. */
  type Shuffle = ShuffleDependency[_, _, _]

  /**
   * The bytes of each partition of each shuffle; None for one whose files have been lost since it ran.
   *
   * It is an ordinary job, in which all of them run at a time. One that consists of nothing but map tasks
   * (`submitMapStage`) ends Spark's scheduler where another job runs the same shuffle at that moment.
   */
  def await(context: SparkContext, shuffles: Seq[Shuffle]): Seq[Option[Array[Long]]] = {
    context.runJob(
      new AfterShuffles(context, shuffles.distinct),
      (rows: Iterator[Unit]) => rows.size)
    SparkEnv.get.mapOutputTracker match {
      case tracker: MapOutputTrackerMaster => shuffles.map { shuffle =>
          val isThere =
            tracker.getNumAvailableOutputs(shuffle.shuffleId) == shuffle.rdd.getNumPartitions
          // They may be lost this very moment.
          if (isThere) Try(tracker.getStatistics(shuffle).bytesByPartitionId).toOption else None
        }
      case _ => shuffles.map(_ => None)
    }
  }
}

/** One partition without rows, which comes after the shuffles. */
private class AfterShuffles(context: SparkContext, shuffles: Seq[ShuffledBytes.Shuffle])
    extends RDD[Unit](context, shuffles) {

  override protected def getPartitions: Array[Partition] = Array(new Partition {
    override def index: Int = 0
  })

  override def compute(split: Partition, context: TaskContext): Iterator[Unit] = Iterator.empty
}
