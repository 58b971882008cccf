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

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{
  BroadcastHashJoinExec,
  BroadcastNestedLoopJoinExec,
  HashedRelationBroadcastMode
}
import org.apache.spark.sql.execution.{InSubqueryExec, SparkPlan}
import org.apache.spark.sql.rangejoin.broadcast.{
  BroadcastRangeJoinExec,
  IndexedStageJoinExec,
  RangeIndexExchangeExec
}
import org.apache.spark.sql.rangejoin.condition.Reason

/**
 * Puts the range join in the place of every marked broadcast join whose broadcast is yet to begin, and
 * has its exchange build a range index. One that has begun as something else stays what it is; so
 * does one that a dynamic partition pruning filter reuses.
 */
object PlaceBroadcastRangeJoins extends Rule[SparkPlan] with AdaptiveSparkPlanHelper {

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case join @ (_: BroadcastHashJoinExec | _: BroadcastNestedLoopJoinExec)
        if join.getTagValue(MarkRangeJoins.BroadcastMark).isDefined =>
      BroadcastRangeJoinExec.of(join).filter(_.extracted.isRight).fold(join)(place(plan, join, _))
    case join: IndexedStageJoinExec => join.placed
  }

  private def place(root: SparkPlan, stock: SparkPlan, join: BroadcastRangeJoinExec): SparkPlan =
    join.buildPlan match {
      case exchange: BroadcastExchangeExec if isReusedByFilter(root, exchange) =>
        stock.setTagValue(MarkRangeJoins.ReasonTag, Reason.DynamicPruning)
        MarkRangeJoins.leave(stock, Reason.DynamicPruning)
        stock
      case exchange: BroadcastExchangeExec =>
        val indexed = new RangeIndexExchangeExec(join.mode, join.withBounds(exchange.child))
        indexed.copyTagsFrom(exchange)
        join.withBuildPlan(indexed)
      case _ => stock
    }

  /**
   * Whether a dynamic partition pruning filter takes its values from this broadcast: one of the same
   * columns, or of the same keys and rows, which at this point may have been planned apart.
   */
  private def isReusedByFilter(root: SparkPlan, exchange: BroadcastExchangeExec): Boolean =
    exchange.mode.isInstanceOf[HashedRelationBroadcastMode] && find(root) {
      _.expressions.exists(_.exists {
        case DynamicPruningExpression(in: InSubqueryExec) =>
          in.plan.children.exists {
            case other: BroadcastExchangeExec =>
              sameColumns(other, exchange) || (other.mode == exchange.mode &&
                other.schema == exchange.schema && sameScans(other, exchange))
            case other: AdaptiveSparkPlanExec =>
              sameColumns(other, exchange) || other.executedPlan.sameResult(exchange.child)
            case other => sameColumns(other, exchange)
          }
        case _ => false
      })
    }.isDefined

  private def sameColumns(a: SparkPlan, b: SparkPlan): Boolean =
    a.output.map(_.exprId) == b.output.map(_.exprId)

  private def sameScans(a: SparkPlan, b: SparkPlan): Boolean =
    collectLeaves(a).map(_.canonicalized) == collectLeaves(b).map(_.canonicalized)
}
