// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeLike, ShuffleExchangeLike}
import org.apache.spark.sql.execution.joins.{
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  ShuffledJoin
}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.partitioning.{DeferShuffleExec, OwnerStageExec, ProbeExec}

/**
 * Removes what need not be waited for: shuffles that have run, shuffles that only the wait would run (a plan
 * that is made twice may come out differently), and measures that would need more than reading.
 */
object RemoveRedundantDeferrals extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(_.isInstanceOf[DeferShuffleExec])) plan
    else {
      val asked = plan.transformUp { case waiting: DeferShuffleExec => waiting.side }
        .collect(DeferShuffle.running).map(_.canonicalized).toSet
      def isAsked(running: Seq[SparkPlan]) =
        running.forall(stage => asked.contains(stage.canonicalized))
      plan.transformUp { case DeferShuffleExec(side, others) =>
        val needed = others.filter {
          case owner: OwnerStageExec    => !owner.isMaterialized
          case ProbeExec.Measured(side) =>
            isPipelined(side) && isAsked(side.collect(DeferShuffle.running))
          case other =>
            val running = other.collect(DeferShuffle.running)
            running.nonEmpty && isAsked(running)
        }
        if (needed.isEmpty) side else DeferShuffleExec(side, needed)
      }
    }

  /** Whether rows come out as they are read, so that the first ones cost little. */
  private def isPipelined(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec =>
      stage.isMaterialized || !stage.isInstanceOf[ShuffleQueryStageExec]
    case _: BroadcastExchangeLike => true
    case _: ShuffleExchangeLike | _: SortExec | _: ShuffledJoin | _: CartesianProductExec |
        _: BroadcastNestedLoopJoinExec => false
    // The last step of one whose shuffle has run.
    case aggregate: BaseAggregateExec
        if !aggregate.collectLeaves().forall(_.isInstanceOf[QueryStageExec]) => false
    case other => other.children.forall(isPipelined)
  }
}
