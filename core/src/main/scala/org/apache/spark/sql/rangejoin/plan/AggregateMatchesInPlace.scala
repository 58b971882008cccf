// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.aggregate.{Complete, Final, PartialMerge}
import org.apache.spark.sql.catalyst.expressions.{Ascending, SortOrder}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.aggregate._
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.{AggregateMatchesExec, SkipPartialMergeExec}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.Side
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.plan.MakePairsOfFewMatches.PairsTag

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
 *
 * Runs when range joins are in their places.
 */
object AggregateMatchesInPlace extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.AggregatedMatches)) plan
    else {
      plan.transformUp {
        case aggregate: BaseAggregateExec if aggregate.getTagValue(PairsTag).isEmpty =>
          val replaced = for {
            wanted <- AggregatedPairs.of(aggregate)
            join <- Option(wanted.pairs).collect { case j: RangeJoinExec if j.best.isEmpty => j }
            _ <- served(wanted, join) if !isSlower(wanted, join)
            inPlace <- merging(aggregate, aggregated(aggregate, wanted, join))
          } yield {
            // Tags are copied to what has none.
            inPlace.copyTagsFrom(aggregate)
            if (wanted.grouping.isEmpty || MergedBuffers.unapply(inPlace).isDefined)
              inPlace.setTagValue(PairsTag, aggregate)
            inPlace
          }
          replaced.getOrElse(withoutMerge(aggregate))
      }
    }

  /** None if the join has to return all pairs; the reason is put on the join as a tag. */
  private def served(wanted: AggregatedPairs, join: RangeJoinExec): Option[Side] = {
    val side = for {
      sides <- wanted.sides(join.left.outputSet, join.right.outputSet)
      side <- join.aggregatedFor.toRight(
        "write an INNER join, or an outer one that keeps the rows that are grouped by")
      _ <- Either.cond(
        sides.contains(side),
        (),
        "have the join stream the side that is grouped by: let Spark broadcast, or build, the other side")
    } yield side
    side.left.foreach(join.setTagValue(AggregateMatchesExec.RefusalTag, _))
    side.toOption
  }

  /**
   * Whether aggregating in the join would be slower: with a residual every pair is tested anyway, and without groups
   * Spark's generated code needs no hash map.
   */
  private def isSlower(wanted: AggregatedPairs, join: RangeJoinExec): Boolean =
    wanted.grouping.isEmpty && join.hasResidual

  private def aggregated(
      aggregate: BaseAggregateExec,
      wanted: AggregatedPairs,
      join: RangeJoinExec): SparkPlan = {
    val buffers =
      aggregate.aggregateExpressions.flatMap(_.aggregateFunction.inputAggBufferAttributes)
    val node =
      AggregateMatchesExec(wanted.grouping, wanted.functions, buffers, unfused(join))
    aggregate.logicalLink.foreach(node.setLogicalLink)
    wanted.expansion.fold[SparkPlan](node)(_.over(node, buffers))
  }

  /**
   * The join with a code generation boundary above its streamed side: the join itself runs interpreted here.
   */
  private def unfused(join: RangeJoinExec): RangeJoinExec = join match {
    case broadcast: BroadcastRangeJoinExec =>
      broadcast.withStreamedPlan(CodegenBoundaryExec(broadcast.streamedPlan))
    case other => other
  }

  /** The aggregate over buffers that replaces the one over rows. */
  private def merging(aggregate: BaseAggregateExec, child: SparkPlan): Option[SparkPlan] = {
    val grouping = aggregate.groupingExpressions.map(_.toAttribute)
    val functions = aggregate.aggregateExpressions.map { function =>
      val mode = if (function.mode == Complete) Final else PartialMerge
      function.copy(mode = mode, filter = None)
    }
    val results = functions.map(_.resultAttribute)
    // What Spark aggregates by objects is refused.
    val merged = Option(aggregate).collect {
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
    }
    merged.foreach(_.copyTagsFrom(aggregate))
    merged.map {
      case hash: HashAggregateExec
          if grouping.nonEmpty && functions.forall(_.mode == PartialMerge) =>
        SkipPartialMergeExec.over(hash)
      case other => other
    }
  }

  private def inOrder(child: SparkPlan, order: Seq[SortOrder]): SparkPlan =
    if (SortOrder.orderingSatisfies(child.outputOrdering, order)) child
    else SortExec(order, global = false, child)

  /** A final aggregate takes buffers as they are: none has to be merged before, in the same task. */
  private def withoutMerge(aggregate: BaseAggregateExec): SparkPlan =
    aggregate.children.head match {
      case merge @ MergedBuffers(buffers: AggregateMatchesExec) if isFinal(aggregate) =>
        if (buffers.grouping.isEmpty)
          merge.getTagValue(PairsTag).foreach(buffers.setTagValue(PairsTag, _))
        aggregate.withNewChildren(Seq(buffers))
      case _ => aggregate
    }

  private def isFinal(aggregate: BaseAggregateExec): Boolean =
    aggregate.isInstanceOf[HashAggregateExec] && aggregate.aggregateExpressions.forall(
      _.mode == Final)
}
