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

import org.apache.spark.rdd.RDD
import org.apache.spark.{Partition, ShuffleDependency, SparkContext, TaskContext}

/** One partition without rows, which comes after a shuffle. */
private[partitioning] final class AfterShuffle(
    context: SparkContext,
    shuffle: ShuffleDependency[_, _, _])
    extends RDD[Unit](context, Seq(shuffle)) {

  override protected def getPartitions: Array[Partition] = Array(new Partition {
    override def index: Int = 0
  })

  override def compute(split: Partition, context: TaskContext): Iterator[Unit] = Iterator.empty

  /**
   * Waits for the shuffle. It is an ordinary job: one that consists of nothing but map tasks (`submitMapStage`)
   * ends Spark's scheduler where another job runs the same shuffle at that moment.
   */
  def await(): Unit = JobOfQuery.run(this, (rows: Iterator[Unit]) => rows.size)
}
