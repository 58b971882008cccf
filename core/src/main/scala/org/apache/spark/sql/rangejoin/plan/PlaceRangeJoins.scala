// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.joins.{
  CartesianProductExec,
  ShuffledHashJoinExec,
  SortMergeJoinExec
}
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.broadcast.{BroadcastRangeJoinExec, IndexedStageJoinExec}
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, Reason, Side}
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.reduce.{BestMatches, BestOrder}
import org.apache.spark.sql.rangejoin.shuffled.{ProductRangeJoinExec, ShuffledRangeJoinExec}

/**
 * Replaces every marked join by its range join, once all rules of Spark that know the stock node are done with it. Runs
 * several times over the same plan; what it has replaced it leaves alone.
 */
object PlaceRangeJoins extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    val placed = plan.transformUp { case node => replaced(node) }
    if (placed.eq(plan)) plan else CodegenBoundaries.belowUnions(placed)
  }

  private def replaced(node: SparkPlan): SparkPlan = {
    def has(mark: TreeNodeTag[Unit]) = node.getTagValue(mark).isDefined
    node match {
      case join: SortMergeJoinExec if has(MarkRangeJoins.SortMergeMark) =>
        val ours = SortMergeRangeJoinExec.of(join).copy(streamed = streamedOf(join))
        replace(join, best => ours.copy(best = best))(SortedInputs.of)
      case join: ShuffledHashJoinExec if has(MarkRangeJoins.ShuffledMark) =>
        replace(join, best => ShuffledRangeJoinExec.of(join).copy(best = best)) { (ours, _) =>
          ours.copy(left = CodegenBoundaryExec(ours.left), right = CodegenBoundaryExec(ours.right))
        }
      case product: CartesianProductExec if has(MarkRangeJoins.ProductMark) =>
        replace(product, _ => ProductRangeJoinExec.of(product)) { (ours, _) =>
          ours.copy(left = CodegenBoundaryExec(ours.left), right = CodegenBoundaryExec(ours.right))
        }
      case join: IndexedStageJoinExec =>
        replace(join, best => join.replacement.copy(best = best))((ours, _) => ours)
      case join if has(MarkRangeJoins.BroadcastMark) =>
        BroadcastRangeJoinExec.of(join).fold(join) { ours =>
          replace(join, best => ours.copy(best = best)) { (ours, _) =>
            overIndex(ours).getOrElse(join)
          }
        }
      case other => other
    }
  }

  /** The side that is to be streamed, where the range allows it. */
  private def streamedOf(join: SortMergeJoinExec): Option[Side] =
    join.getTagValue(AggregateMatchesExec.StreamedTag).filter { side =>
      SortMergeRangeJoinExec.of(join).copy(streamed = Some(side)).normalForm.isRight
    }

  /**
   * The range join, or the stock join where there is no range that it serves.
   *
   * @param rangeJoin the range join over the same children, with the matches that are wanted of it
   * @param finish has its children come as it needs them
   */
  private def replace[J <: RangeJoinExec](stock: SparkPlan, rangeJoin: Option[BestMatches] => J)(
      finish: (J, RangeCondition) => SparkPlan
  ): SparkPlan = {
    val best = stock.getTagValue(BestMatches.Tag)
    def range(streamed: Option[Side]) = rangeJoin(best.filter(_ => streamed.isDefined)).normalForm
    val join = rangeJoin(best.flatMap(BestOrder.served(range, _, rangeJoin(None).left.outputSet)))
    best.filter(_ => join.best.isEmpty).foreach { wanted =>
      stock.unsetTagValue(BestMatches.Tag)
      stock.setTagValue(
        BestMatches.RefusalTag,
        s"order by a column that the range rises with, and not by ${wanted.rankedBy(_.sql)}")
    }
    // Over an index that has been built there is no stock join any more.
    val hasBegun = stock.isInstanceOf[IndexedStageJoinExec]
    val placed = join.placeable
      .filterOrElse(!_.isOpen || join.best.isDefined || hasBegun, Reason.RankedSideBuilt)
    placed.fold(
      reason => {
        stock.setTagValue(MarkRangeJoins.ReasonTag, reason)
        MarkRangeJoins.leave(stock, reason)
        stock
      },
      finish(join, _))
  }

  /** Over an exchange that builds a range index; None where a broadcast has begun as something else. */
  private def overIndex(join: BroadcastRangeJoinExec): Option[BroadcastRangeJoinExec] =
    join.buildPlan match {
      case exchange: BroadcastExchangeExec =>
        val indexed = join.exchangeOver(exchange.child)
        indexed.copyTagsFrom(exchange)
        Some(join.withBuildPlan(indexed))
      case _ => None
    }
}
