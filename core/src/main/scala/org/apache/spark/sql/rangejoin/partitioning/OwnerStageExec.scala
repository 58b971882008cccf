// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.Future

import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, Statistics}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec

/**
 * Stands for the owner's shuffle in what the other side of a join waits for (see [[DeferShuffleExec]]). To
 * adaptive execution it is a stage that is running already; after each stage it checks whether this one has
 * its result.
 */
case class OwnerStageExec(
    @transient lengths: OwnerLengths,
    override val id: Int,
    override val plan: SparkPlan
) extends QueryStageExec {
  _resultOption = lengths.result

  override protected def stringArgs: Iterator[Any] = Iterator("until the owner has been shuffled")

  // Spark calls neither, since it takes the stage for one that it has started before.
  override protected def doMaterialize(): Future[Any] = Future.successful(())

  override def getRuntimeStatistics: Statistics = Statistics(sizeInBytes = 1)
}

object OwnerStageExec {

  /** Like a measure, it stands for no part of the query. */
  def apply(lengths: OwnerLengths): OwnerStageExec = {
    val stage = OwnerStageExec(lengths, 0, NoRowsExec(Nil))
    stage.setLogicalLink(LocalRelation())
    stage
  }
}
