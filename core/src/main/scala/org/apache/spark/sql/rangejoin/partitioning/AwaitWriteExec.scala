// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.Future

import org.apache.spark.MapOutputStatistics
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Statistics}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  ShuffleExchangeLike,
  ShuffleOrigin
}
import org.apache.spark.sql.execution.{ShufflePartitionSpec, SparkPlan}

/**
 * What the other side waits for: a stage without rows or a job, which ends after a side has been written. It
 * does not contain the plan of that side: joins within joins would contain copies of copies.
 */
case class AwaitWriteExec(@transient writing: Writing, child: SparkPlan)
    extends ShuffleExchangeLike {

  override def nodeName: String = "AwaitWrite"

  override def stringArgs: Iterator[Any] = Iterator.empty

  override def outputPartitioning: Partitioning = UnknownPartitioning(0)

  override protected def mapOutputStatisticsFuture: Future[MapOutputStatistics] = writing.future

  override def numMappers: Int = 0

  override def numPartitions: Int = 0

  override def advisoryPartitionSize: Option[Long] = None

  override def shuffleOrigin: ShuffleOrigin = ENSURE_REQUIREMENTS

  // New in Spark 4. There is no such shuffle.
  def shuffleId: Int = -1

  override def getShuffleRDD(partitionSpecs: Array[ShufflePartitionSpec]): RDD[InternalRow] =
    sparkContext.emptyRDD

  override def runtimeStatistics: Statistics = Statistics(0, Some(0))

  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD

  override protected def withNewChildInternal(newChild: SparkPlan): AwaitWriteExec =
    copy(child = newChild)
}

object AwaitWriteExec {

  /**
   * The node to wait for. Its logical link is an empty relation, so Spark replaces no part of the
   * query by it. If a stage already waits, it is that stage: another exchange would make the new
   * plan costlier than the current one, and adaptive execution would reject it.
   */
  def of(writing: Writing): SparkPlan = {
    val await =
      if (writing.isAwaited) AwaitedStageExec(writing)
      else AwaitWriteExec(writing, NoRowsExec(Nil))
    await.setLogicalLink(LocalRelation())
    await
  }
}
