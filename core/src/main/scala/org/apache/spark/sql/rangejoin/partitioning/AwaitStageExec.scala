// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.Future

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Statistics}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec

/**
 * Stands for the other side of a join in what one side waits for (see [[DeferShuffleExec]]). To adaptive
 * execution it is a stage that is running already; after each stage it checks whether this one has its result.
 */
case class AwaitStageExec(
    @transient result: AtomicReference[Option[Any]],
    override val id: Int,
    override val plan: SparkPlan
) extends QueryStageExec {
  _resultOption = result

  override protected def stringArgs: Iterator[Any] = Iterator.empty

  // Spark calls neither, since it takes the stage for one that it has started before.
  override protected def doMaterialize(): Future[Any] = Future.successful(())

  override def getRuntimeStatistics: Statistics = Statistics(sizeInBytes = 1)
}

object AwaitStageExec {

  /** Like a measure, it stands for no part of the query. */
  def apply(result: AtomicReference[Option[Any]]): AwaitStageExec = {
    val stage = AwaitStageExec(result, 0, NoRowsExec(Nil))
    stage.setLogicalLink(LocalRelation())
    stage
  }
}
