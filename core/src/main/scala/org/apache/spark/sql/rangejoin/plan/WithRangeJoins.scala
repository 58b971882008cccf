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

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
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
    case _: WriteFilesExec                                               => true
    case join: BaseJoinExec if MarkRangeJoins.Marks.exists(has(join, _)) => true
    case node => node.getClass.getName.startsWith(Ours)
  }

  private def has(join: BaseJoinExec, mark: TreeNodeTag[Unit]): Boolean =
    join.getTagValue(mark).isDefined
}
