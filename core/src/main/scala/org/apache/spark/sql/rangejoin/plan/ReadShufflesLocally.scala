// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadRule, OptimizeShuffleWithLocalRead}
import org.apache.spark.sql.execution.exchange.ShuffleOrigin
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec

/**
 * Where adaptive execution finds a side small enough to broadcast once the other one is shuffled, that
 * one is read where it was written. Spark's rule for it knows its own join only: it is shown one.
 */
object ReadShufflesLocally extends AQEShuffleReadRule {

  override protected def supportedShuffleOrigins: Seq[ShuffleOrigin] = Nil

  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(_.isInstanceOf[BroadcastRangeJoinExec])) plan
    else {
      def joins(plan: SparkPlan) = plan.collect {
        case join: BroadcastRangeJoinExec if join.leftKeys.nonEmpty => join
      }
      val stock = plan.transformUp {
        case join: BroadcastRangeJoinExec if join.leftKeys.nonEmpty => join.asStock
      }
      // Spark's rule puts reads between the nodes, and leaves their order.
      val ours = joins(plan).iterator
      OptimizeShuffleWithLocalRead(stock).transformDown {
        case join: BroadcastHashJoinExec
            if join.children.exists(PlanBegunStages.indexOf(_).isDefined) =>
          ours.next().withNewChildren(join.children)
      }
    }
}
