// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.Future

import org.apache.spark.sql.catalyst.plans.logical.Statistics
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.QueryStageExec

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
