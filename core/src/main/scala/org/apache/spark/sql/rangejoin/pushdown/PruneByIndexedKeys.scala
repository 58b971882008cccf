// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions.{DynamicPruningExpression, Expression}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{
  DYNAMIC_PRUNING_EXPRESSION,
  IN_SUBQUERY_EXEC
}
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, AdaptiveSparkPlanHelper}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.HashedRelationBroadcastMode
import org.apache.spark.sql.rangejoin.broadcast.{BroadcastRangeJoinExec, RangeIndexExchangeExec}
import org.apache.spark.sql.rangejoin.shims.PruningValues

/**
 * Has a dynamic partition pruning filter take its values from the keys of a range index, if the join whose hashed
 * broadcast it would read has become a range join.
 *
 * Under adaptive execution Spark decides on filters when a stage is made, and drops one that finds no hash join; this
 * rule comes before. Without, it has planned the filter's own broadcast already, for the join's to be reused.
 */
object PruneByIndexedKeys extends Rule[SparkPlan] with AdaptiveSparkPlanHelper {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.conf.exchangeReuseEnabled) plan
    else {
      plan.transformAllExpressionsWithPruning(
        _.containsAllPatterns(DYNAMIC_PRUNING_EXPRESSION, IN_SUBQUERY_EXEC)) {
        case DynamicPruningExpression(in: InSubqueryExec) =>
          DynamicPruningExpression(indexed(in.plan, plan).fold(in)(in.withNewPlan))
      }
    }

  private def indexed(values: BaseSubqueryExec, root: SparkPlan): Option[BaseSubqueryExec] =
    (values, values.child) match {
      case (planned: SubqueryAdaptiveBroadcastExec, rows: AdaptiveSparkPlanExec) =>
        indexOf(planned.buildKeys, rows.executedPlan, root).map { index =>
          rows.executedPlan.logicalLink.foreach(index.setLogicalLink)
          PruningValues.of(planned, rows.copy(inputPlan = index))
        }
      case (
            planned: SubqueryBroadcastExec,
            BroadcastExchangeExec(_: HashedRelationBroadcastMode, rows)) =>
        // Generated code computes the columns of the index together with the plan below.
        indexOf(planned.buildKeys, withoutCodegen(rows), root).map { index =>
          planned.copy(child = CollapseCodegenStages()(index))
        }
      case _ => None
    }

  /** The index of a range join that is keyed as a hashed broadcast of these rows would be. */
  private def indexOf(
      keys: Seq[Expression],
      rows: SparkPlan,
      root: SparkPlan
  ): Option[RangeIndexExchangeExec] =
    collectFirst(root)(Function.unlift {
      case join: BroadcastRangeJoinExec if join.isKeyedBy(keys, rows) =>
        Some(join.exchangeOver(rows)).filter(isSame(_, join.buildPlan))
      case _ => None
    })

  /** Whether both have the same result; one may be further prepared for execution than the other. */
  private def isSame(a: SparkPlan, b: SparkPlan): Boolean =
    withoutTransitions(a).sameResult(withoutTransitions(b))

  private def withoutTransitions(plan: SparkPlan): SparkPlan = withoutCodegen(plan).transformUp {
    case columns: ColumnarToRowTransition => columns.child
    case rows: RowToColumnarTransition    => rows.child
  }

  private def withoutCodegen(plan: SparkPlan): SparkPlan = plan.transformUp {
    case stage: WholeStageCodegenExec => stage.child
    case input: InputAdapter          => input.child
  }
}
