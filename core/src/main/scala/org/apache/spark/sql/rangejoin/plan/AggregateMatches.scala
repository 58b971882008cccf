// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateMode,
  Complete,
  Final,
  PartialMerge
}
import org.apache.spark.sql.catalyst.expressions.{Ascending, SortOrder}
import org.apache.spark.sql.execution.aggregate.{
  BaseAggregateExec,
  HashAggregateExec,
  SortAggregateExec
}
import org.apache.spark.sql.execution.{ExpandExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.{AggregateMatchesExec, ExactMoments}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec, WithTagsOf}

/**
 * Has a range join aggregate the matches of each streamed row, where a partial aggregate above it is grouped by
 * columns of that side, and each of its functions is of one side:
 *
 * {{{
 *   partial aggregate             aggregate that merges buffers
 *     Project                       AggregateMatches    a row, with buffers, for each streamed row
 *       range join        ──▶         range join
 * }}}
 *
 * Nothing has to be known of the columns that are grouped by: rows of one group are merged above. Where the final
 * aggregate is next, it is the one that merges.
 */
private[plan] object AggregateMatches {

  /** The matches of a join, aggregated; None if the join returns all pairs. */
  def of(join: RangeJoinExec, demand: Demand): Option[SparkPlan] =
    for {
      wanted <- demand.aggregates
      if join.best.isEmpty && wanted.servedBy(join).isRight && !isSlower(join, wanted)
    } yield AggregateMatchesExec(wanted.grouping, wanted.functions, wanted.buffers, unfused(join))

  /** What gives the buffers that are wanted; None if a plan gives rows. */
  def answer(plan: SparkPlan, wanted: Option[AggregatedPairs]): Option[SparkPlan] =
    wanted.flatMap { aggregates =>
      def isAnswer(plan: SparkPlan) =
        cond(plan) { case matches: AggregateMatchesExec => matches.buffers == aggregates.buffers }
      Some(plan).filter {
        case expand: ExpandExec => isAnswer(expand.child)
        case other              => isAnswer(other)
      }
    }

  /**
   * Whether pairs are aggregated faster by Spark's generated code. Without groups it needs no hash map, and with a residual
   * every pair is tested anyway. And an index that has been built may show that no row has more than a few matches: a
   * buffer for each row costs more than these. Not if the aggregate above can be left out ([[MatchesInPlace]]).
   */
  private def isSlower(join: RangeJoinExec, wanted: AggregatedPairs): Boolean = {
    val isTotal = wanted.grouping.isEmpty
    val few = if (isTotal) FewRowsOfAll else FewRows
    def hasFew = cond(join) {
      case broadcast: BroadcastRangeJoinExec => broadcast.builtIndex.exists(_.largestGroup <= few)
    }
    isTotal && join.hasResidual ||
    hasFew && StreamedNumber.among(wanted.grouping, join).isEmpty
  }

  /** The most rows of a key that are few, if there are groups, each of which may have one streamed row only. */
  private val FewRows = 4

  /** The same without groups, where pairs need no hash map. */
  private val FewRowsOfAll = 16

  /**
   * The join with a code generation boundary above its streamed side: the join itself runs interpreted here.
   */
  private def unfused(join: RangeJoinExec): RangeJoinExec = join match {
    case broadcast: BroadcastRangeJoinExec =>
      // With its logical plan: the stage below must not be taken for the aggregate's.
      WithTagsOf(join)(broadcast.withStreamedPlan(CodegenBoundaryExec(broadcast.streamedPlan)))
    case other => other
  }

  /** An aggregate of rows over what gives it buffers instead: it merges them. */
  def merged(aggregate: BaseAggregateExec, child: SparkPlan): SparkPlan = {
    aggregate.logicalLink.foreach(child.setLogicalLink)
    val grouping = aggregate.groupingExpressions.map(_.toAttribute)
    val functions = aggregate.aggregateExpressions.map { function =>
      val mode = if (function.mode == Complete) Final else PartialMerge
      ExactMoments.merging(function.copy(mode = mode, filter = None))
    }
    val results = functions.map(_.resultAttribute)
    WithTagsOf(aggregate)(aggregate match {
      case hash: HashAggregateExec => hash.copy(
          groupingExpressions = grouping,
          aggregateExpressions = functions,
          aggregateAttributes = results,
          initialInputBufferOffset = grouping.size,
          child = child)
      case sorted: SortAggregateExec => sorted.copy(
          groupingExpressions = grouping,
          aggregateExpressions = functions,
          aggregateAttributes = results,
          initialInputBufferOffset = grouping.size,
          child = inOrder(child, grouping.map(SortOrder(_, Ascending)))
        )
      // What Spark aggregates by objects is refused.
      case other => throw new IllegalStateException(s"not merged by expressions:\n$other")
    })
  }

  private def inOrder(child: SparkPlan, order: Seq[SortOrder]): SparkPlan =
    if (SortOrder.orderingSatisfies(child.outputOrdering, order)) child
    else SortExec(order, global = false, child)

  /** A final aggregate takes buffers as they are: none has to be merged before, in the same task. */
  def withoutMerge(aggregate: BaseAggregateExec): SparkPlan =
    aggregate.children.head match {
      case MergedBuffers(buffers: AggregateMatchesExec)
          if aggregate.isInstanceOf[HashAggregateExec] && MergedBuffers.areFinal(aggregate) &&
            !aggregate.aggregateExpressions.exists(f => ExactMoments.areOf(f.aggregateFunction)) =>
        aggregate.withNewChildren(Seq(buffers))
      case _ => aggregate
    }
}

/** An aggregate that only merges the buffers of others, and its input. */
private[plan] object MergedBuffers {

  def unapply(plan: SparkPlan): Option[SparkPlan] = condOpt(plan) {
    case merge: BaseAggregateExec if areOf(merge, PartialMerge) => merge.children.head
  }

  /** Whether there are functions, and all of them give results of merged buffers. */
  def areFinal(aggregate: BaseAggregateExec): Boolean = areOf(aggregate, Final)

  private def areOf(aggregate: BaseAggregateExec, mode: AggregateMode): Boolean =
    aggregate.aggregateExpressions.nonEmpty && aggregate.aggregateExpressions.forall(_.mode == mode)
}
