// SPDX-License-Identifier: Apache-2.0

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
