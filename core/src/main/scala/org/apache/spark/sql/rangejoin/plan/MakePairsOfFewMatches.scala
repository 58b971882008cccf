// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.ExprId
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.{ExecSubqueryExpression, ExpandExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.{
  AggregateMatchesExec,
  RestOfRowsExec,
  SkipPartialMergeExec
}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}

/**
 * Restores the aggregate over pairs that [[AggregateMatchesInPlace]] has replaced, where adaptive execution has built
 * the index of a broadcast join before it runs the stage of the join, and no key has more than a few rows in the index:
 * generated code over pairs is then faster than a buffer for each streamed row. Not where a final aggregate with groups
 * reads the buffers directly: pairs would pass through two hash maps of groups.
 */
object MakePairsOfFewMatches extends Rule[SparkPlan] {

  /**
   * On what has replaced an aggregate over pairs: that aggregate. On an aggregate over pairs: it has been restored, and
   * is not replaced again.
   */
  val PairsTag: TreeNodeTag[BaseAggregateExec] =
    TreeNodeTag[BaseAggregateExec]("rangejoin.aggregateOverPairs")

  /**
   * The most rows of a key that are few, if there are groups, each of which may have one streamed row only.
   */
  private val FewRows = 4

  /** The same without groups, where pairs need no hash map. */
  private val FewRowsOfAll = 16

  override def apply(plan: SparkPlan): SparkPlan =
    plan.transformDown { case buffers => overPairs(buffers).getOrElse(buffers) }

  private def overPairs(buffers: SparkPlan): Option[SparkPlan] =
    for {
      aggregate <- buffers.getTagValue(PairsTag)
      // The tag may have been copied to another node by Spark.
      if aggregate.output.map(_.exprId) == buffers.output.map(_.exprId)
      join <- joinBelow(buffers)
      index <- join.builtIndex
      most = if (aggregate.groupingExpressions.isEmpty) FewRowsOfAll else FewRows
      if index.largestGroup <= most
    } yield {
      val pairs = over(aggregate, fused(join), subqueriesOf(buffers))
      pairs.setTagValue(PairsTag, aggregate)
      pairs
    }

  @tailrec
  private def joinBelow(plan: SparkPlan): Option[BroadcastRangeJoinExec] = plan match {
    case matches: AggregateMatchesExec =>
      matches.join.collect { case join: BroadcastRangeJoinExec => join }
    case _: SkipPartialMergeExec | _: RestOfRowsExec | _: BaseAggregateExec | _: ExpandExec |
        _: SortExec => joinBelow(plan.children.head)
    case _ => None
  }

  /** @param subqueries what they are now: some may be those of other operators */
  private def over(
      plan: SparkPlan,
      join: SparkPlan,
      subqueries: Map[ExprId, ExecSubqueryExpression]): SparkPlan = plan match {
    case _: RangeJoinExec => join
    case other            =>
      other.withNewChildren(other.children.map(over(_, join, subqueries))).transformExpressions {
        case subquery: ExecSubqueryExpression => subqueries.getOrElse(subquery.exprId, subquery)
      }
  }

  private def subqueriesOf(plan: SparkPlan): Map[ExprId, ExecSubqueryExpression] =
    plan.flatMap(_.expressions).flatMap(_.collect { case subquery: ExecSubqueryExpression =>
      subquery.exprId -> subquery
    }).toMap

  private def fused(join: BroadcastRangeJoinExec): SparkPlan = join.streamedPlan match {
    case CodegenBoundaryExec(streamed) => join.withStreamedPlan(streamed)
    case _                             => join
  }
}
