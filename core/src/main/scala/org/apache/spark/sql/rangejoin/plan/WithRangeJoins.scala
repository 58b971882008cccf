// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.datasources.WriteFilesExec
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.Predicates
import org.apache.spark.sql.rangejoin.pushdown.ImpliedLimit

/** Rules one after the other, on plans in which there is something for them: any other plan has one look at it. */
case class WithRangeJoins(rules: Seq[Rule[SparkPlan]]) extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (WithRangeJoins.areIn(plan)) rules.foldLeft(plan)((placed, rule) => rule(placed)) else plan
}

object WithRangeJoins {

  private val Ours = "org.apache.spark.sql.rangejoin."

  /** Whether there is a marked join, a node of ours, a limit that follows from a range, or a write. */
  private[plan] def areIn(plan: SparkPlan): Boolean = plan.exists {
    case stage: QueryStageExec => areIn(stage.plan)
    case filter: FilterExec    =>
      Predicates.split(filter.condition).exists(_.isInstanceOf[ImpliedLimit])
    case _: WriteFilesExec                                                     => true
    case join: BaseJoinExec if join.getTagValue(MarkRangeJoins.Mark).isDefined => true
    case node => node.getClass.getName.startsWith(Ours)
  }
}
