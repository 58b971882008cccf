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
package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType}
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, RangeExtractor, Reason}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.plan.MarkRangeJoins

import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.compact

/**
 * Reports on the joins of a plan. They are derived from the plan and the settings alone, as planning
 * does it, so that they can be had of any plan at any time; only what planning decided by more than
 * that (see [[MarkRangeJoins.ReasonTag]]) is left on the node.
 */
object JoinReports extends AdaptiveSparkPlanHelper {

  /** All joins of a plan, its subqueries included, from the top of the plan. */
  def of(plan: SparkPlan): Seq[JoinReport] =
    collectWithSubqueries(plan)(Function.unlift(reportOf))

  /** The reports on a query's plan as it is now: a JSON array of objects. */
  def json(query: QueryExecution): String =
    query.sparkSession.withActive(compact(of(query.executedPlan).map(_.json)))

  private def reportOf(plan: SparkPlan): Option[JoinReport] = Option(plan).collect {
    case join: SortMergeRangeJoinExec =>
      val range = RangeExtractor
        .normalForm(join.joinType, join.condition, join.left.outputSet, join.right.outputSet)
      rangeJoin(join, join, range)
    case join: BroadcastRangeJoinExec => rangeJoin(join, join, join.extracted)
    case join: BaseJoinExec           => stockJoin(join)
    case join if join.nodeName == "StreamingSymmetricHashJoin" =>
      stockReport(join, Inner, Nil, None, Reason.Streaming)
  }

  private def rangeJoin(
      plan: SparkPlan,
      join: BaseJoinExec,
      extracted: Either[Reason, RangeCondition]
  ): JoinReport = JoinReport(
    plan.nodeName,
    join.joinType.sql,
    join.leftKeys.zip(join.rightKeys),
    extracted.toSeq.flatMap(_.predicates),
    extracted.toOption.flatMap(_.residual),
    extracted.toOption.map(_.streamed),
    None,
    metricsOf(plan)
  )

  private def stockJoin(join: BaseJoinExec): JoinReport = stockReport(
    join,
    join.joinType,
    join.leftKeys.zip(join.rightKeys),
    join.condition,
    reasonOf(join)
  )

  private def stockReport(
      plan: SparkPlan,
      joinType: JoinType,
      keys: Seq[(Expression, Expression)],
      condition: Option[Expression],
      reason: Reason
  ): JoinReport =
    JoinReport(
      plan.nodeName,
      joinType.sql,
      keys,
      Nil,
      condition,
      None,
      Some(reason),
      metricsOf(plan))

  private def metricsOf(plan: SparkPlan): Map[String, Long] =
    plan.metrics.map { case (name, metric) => name -> metric.value }

  /** Why a join is a stock join: what its condition lacks comes before what the plan or settings do. */
  private def reasonOf(join: SparkPlan): Reason =
    join.getTagValue(MarkRangeJoins.ReasonTag).getOrElse(join match {
      case _ if join.logicalLink.exists(_.isStreaming)               => Reason.Streaming
      case j: BroadcastHashJoinExec if j.isNullAwareAntiJoin         => Reason.NullAware
      case _: BroadcastHashJoinExec | _: BroadcastNestedLoopJoinExec =>
        val extracted = BroadcastRangeJoinExec.of(join).map(_.extracted)
        extracted.flatMap(_.left.toOption).getOrElse(switchedOff(RangeJoinConf.Broadcast.key))
      case j: CartesianProductExec =>
        reasonOf(Inner, j.condition, j).getOrElse(Reason.NoKey)
      case j: ShuffledHashJoinExec =>
        reasonOf(j.joinType, j.condition, j).getOrElse(Reason.ShuffledHash)
      case j: BaseJoinExec =>
        reasonOf(j.joinType, j.condition, j).getOrElse(switchedOff())
      case other => throw new IllegalArgumentException(s"not a join: ${other.nodeName}")
    })

  private def reasonOf(
      joinType: JoinType,
      condition: Option[Expression],
      join: SparkPlan
  ): Option[Reason] = RangeExtractor
    .extract(joinType, condition, join.children.head.outputSet, join.children.last.outputSet)
    .left
    .toOption

  /** There is a range: a setting is in the way now, or was when the plan was made. */
  private def switchedOff(others: String*): Reason =
    (RangeJoinConf.Enabled.key +: others)
      .find(key => !SQLConf.get.getConfString(key).toBoolean)
      .map(Reason.SwitchedOff)
      .getOrElse(Reason.PlannedOtherwise)
}
