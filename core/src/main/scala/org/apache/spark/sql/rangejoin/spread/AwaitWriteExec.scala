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

import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.{Future, Promise}

import org.apache.spark.MapOutputStatistics
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Statistics}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  ShuffleExchangeLike,
  ShuffleOrigin
}
import org.apache.spark.sql.execution.{LeafExecNode, ShufflePartitionSpec, SparkPlan}
import org.apache.spark.util.ThreadUtils

/**
 * That a side of a join is being written ([[WriteOnceExec]]), for which the other side waits in an adaptive plan.
 * Kept while the plan is made again.
 */
final class Writing {

  private val ended = Promise[MapOutputStatistics]()

  /** What a stage has for a result, once the side has been written. */
  private[spread] val result = new AtomicReference[Option[Any]](None)

  /** Whether a stage waits, which will have the plan made again. */
  @volatile private[spread] var isAwaited: Boolean = false

  private[spread] def end(): Unit = Writing.later { () =>
    result.set(Some(()))
    ended.trySuccess(null)
  }

  private[spread] def future: Future[MapOutputStatistics] = {
    isAwaited = true
    ended.future
  }
}

private object Writing {

  /**
   * When a side has been written its own stage tells adaptive execution, which plans again, without the wait.
   * Were the wait over first, the other side could begin before the size of this one is known. So it ends later,
   * and for a plan that is not made again alone.
   */
  private val SecondsLater = 1L

  private lazy val timer =
    ThreadUtils.newDaemonSingleThreadScheduledExecutor("range-join-writing")

  private def later(end: Runnable): Unit = timer.schedule(end, SecondsLater, SECONDS)
}

/**
 * What the other side waits for: a stage without rows, and without a job, that ends after a side has been written.
 * Nothing of the plan of that side is below it, as joins within joins would have it as often as there are paths.
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
   * What is to be awaited. It stands for no part of the query. Where a stage waits already, a plan that has
   * an exchange to wait for has one shuffle more than the one before it, and would not be taken.
   */
  def of(writing: Writing): SparkPlan = {
    val await =
      if (writing.isAwaited) AwaitedStageExec(writing)
      else AwaitWriteExec(writing, NoRowsExec(Nil))
    await.setLogicalLink(LocalRelation())
    await
  }
}

/** The stage of an [[AwaitWriteExec]], in a plan that is made while it waits. */
case class AwaitedStageExec(@transient writing: Writing) extends QueryStageExec {

  override val id: Int = -1

  override val plan: SparkPlan = NoRowsExec(Nil)

  if (writing != null) _resultOption = writing.result

  override def nodeName: String = "AwaitWrite"

  override def stringArgs: Iterator[Any] = Iterator.empty

  override protected def doMaterialize(): Future[Any] = writing.future

  override def getRuntimeStatistics: Statistics = Statistics(0, Some(0))
}

/** Has no rows. */
case class NoRowsExec(output: Seq[Attribute]) extends LeafExecNode {

  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
}
