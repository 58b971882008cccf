// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * Has sort-merge range joins keep the order of their streamed side, and removes the sorts above that are in vain then:
 * those of further range joins of the same rows, and of windows, aggregates and writes by the same columns. Spark has
 * planned these by the order of the stock join, which is one by keys.
 *
 * A join keeps it where that costs nothing, since its streamed side is sorted as a whole or comes in order; and where a
 * sort above goes for it, also if its streamed side is sorted key by key: then each key is sorted that once.
 *
 * Runs from the lowest node up, when all nodes are in their places: matches that are ranked in place keep the order, and
 * the windows that Spark would rank them by do not.
 */
object KeepStreamedOrder extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(_.isInstanceOf[SortMergeRangeJoinExec])) plan
    else plan.transformUp {
      case join: SortMergeRangeJoinExec if !join.keepsOrder && isSorted(join) => join.inOrder
      case sort: RangeSortExec                                                => below(sort)
      case sort: SortExec if isLocal(sort)                                    => below(sort)
    }

  /** Whether the streamed side is in order before a row of it is read, and not key by key. */
  private def isSorted(join: SortMergeRangeJoinExec): Boolean = join.streamedPlan match {
    case CodegenBoundaryExec(sort: RangeSortExec) => sort.presorted.isEmpty
    case _                                        => true
  }

  private def isLocal(sort: SortExec): Boolean =
    conf.getConf(SQLConf.REMOVE_REDUNDANT_SORTS_ENABLED) &&
      sort.child.outputPartitioning.satisfies(sort.requiredChildDistribution.head)

  private def below(sort: UnaryExecNode): SparkPlan =
    Iterator(sort.child, inOrder(sort.child))
      .find(child => SortOrder.orderingSatisfies(child.outputOrdering, sort.outputOrdering))
      .getOrElse(sort)

  /** A plan whose joins keep the orders that reach its rows. */
  private def inOrder(plan: SparkPlan): SparkPlan = plan match {
    case _: Exchange | _: RangeSortExec | _: SortExec => plan
    case other => other.withNewChildren(other.children.map(inOrder)) match {
        case join: SortMergeRangeJoinExec => join.inOrder
        case same                         => same
      }
  }
}
