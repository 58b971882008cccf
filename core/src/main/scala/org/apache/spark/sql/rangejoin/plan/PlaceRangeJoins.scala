// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  Expression,
  MonotonicallyIncreasingID
}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{BroadcastExchangeExec, Exchange}
import org.apache.spark.sql.execution.joins.{
  CartesianProductExec,
  ShuffledHashJoinExec,
  SortMergeJoinExec
}
import org.apache.spark.sql.execution.{
  ExpandExec,
  GenerateExec,
  ProjectExec,
  SortExec,
  SparkPlan,
  UnaryExecNode,
  UnionExec
}
import org.apache.spark.sql.rangejoin.best.{BestMatches, BestOrder}
import org.apache.spark.sql.rangejoin.broadcast.{BroadcastRangeJoinExec, IndexedStageJoinExec}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.{
  CodegenBoundaryExec,
  RangeJoinExec,
  TwoInputRangeJoinExec,
  WithTagsOf
}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.{BestCopies, RangeBucketExec}
import org.apache.spark.sql.rangejoin.shuffled.{ProductRangeJoinExec, ShuffledRangeJoinExec}

/**
 * Replaces every marked join by its range join, once all rules of Spark that know the stock node are done with it. One
 * pass: what each operator wants of the pairs below it ([[Demand]]) is handed down, and nodes are handed up. A join that
 * can serve it returns the best matches alone, or, as [[AggregateMatches]], buffers in the place of pairs; the operators
 * between then make way.
 *
 * What ranks the pairs stays where it is. A pair that is not among the best of its own row is not among the
 * best of a partition that has other rows as well, so nothing has to be known of the columns that rows
 * are partitioned by but that they are of one side. And as pairs beyond the best change nothing, a join may
 * give as many of them as it finds convenient.
 *
 * Runs several times over the same plan; what it has replaced it leaves alone.
 */
object PlaceRangeJoins extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    val placed = place(plan, Demand.AllRows)
    if (placed.eq(plan)) plan else CodegenBoundaries.belowUnions(placed)
  }

  /** @param demand what is wanted of the rows of the plan */
  private def place(plan: SparkPlan, demand: Demand): SparkPlan = {
    val below = demand.below(plan)
    val over = plan.withNewChildren(plan.children.map(place(_, below)))
    def answer = AggregateMatches.answer(over.children.head, below.aggregates)
    over match {
      case join: RangeJoinExec          => aggregated(join, demand)
      case _: ProjectExec | _: SortExec => answer.getOrElse(over)
      // Only the optimizer has to be shown a generator.
      case GenerateExec(_: NumberOfRow, columns, _, Seq(id), child) =>
        val number = Alias(
          MonotonicallyIncreasingID(),
          id.name)(id.exprId, explicitMetadata = Some(id.metadata))
        WithTagsOf(over)(ProjectExec(columns :+ number, child))
      case _: ExpandExec =>
        val rows = for (buffers <- answer; wanted <- below.aggregates; sets <- wanted.expansion)
          yield sets.over(buffers, wanted.buffers)
        rows.getOrElse(over)
      case aggregate: BaseAggregateExec =>
        answer.fold(AggregateMatches.withoutMerge(aggregate))(AggregateMatches.merged(aggregate, _))
      case other => replaced(other, demand) match {
          case join: RangeJoinExec => aggregated(join, demand)
          case stock               => stock
        }
    }
  }

  private def aggregated(join: RangeJoinExec, demand: Demand): SparkPlan =
    AggregateMatches.of(join, demand).getOrElse(join)

  private def replaced(node: SparkPlan, demand: Demand): SparkPlan =
    (node, node.getTagValue(MarkRangeJoins.Mark)) match {
      case (join: IndexedStageJoinExec, _) =>
        replaced(join, join.replacement, demand)((ours, _) => ours)
      case (join: SortMergeJoinExec, Some(_)) =>
        val ours = SortMergeRangeJoinExec.of(join)
        replaced(join, ours.copy(streamed = streamedBy(ours, demand)), demand) { (ours, range) =>
          copiesOfBest(SortedInputs.of(ours, range))
        }
      // From Spark 4.3 on, adaptive execution makes one of a planned sort-merge join whose sides turn out small.
      case (join: ShuffledHashJoinExec, Some(mark))
          if mark.hinted || conf.getConf(RangeJoinConf.Shuffled) =>
        replaced(join, ShuffledRangeJoinExec.of(join), demand)((ours, _) => fenced(ours))
      case (product: CartesianProductExec, Some(_)) =>
        replaced(product, ProductRangeJoinExec.of(product), demand)((ours, _) => fenced(ours))
      case (join, Some(_)) =>
        BroadcastRangeJoinExec.of(join).fold(join) {
          replaced(join, _, demand)((ours, _) => overIndex(ours).getOrElse(join))
        }
      case _ => node
    }

  /**
   * The range join, or the stock join where there is no range that it serves.
   *
   * @param ours the range join over the same children
   * @param finish has its children come as it needs them
   */
  private def replaced[J <: RangeJoinExec](stock: SparkPlan, ours: J, demand: Demand)(
      finish: (J, RangeCondition) => SparkPlan
  ): SparkPlan = {
    def withBest(best: Option[BestMatches]) = ours.withBest(best).asInstanceOf[J]
    val best = demand.bestOf(ours).flatMap(_.toOption)
    def range(streamed: Option[Side]) = withBest(best.filter(_ => streamed.isDefined)).normalForm
    val join = withBest(best.flatMap(BestOrder.served(range, _, ours.left.outputSet)))
    // Over an index that has been built there is no stock join any more.
    val hasBegun = stock.isInstanceOf[IndexedStageJoinExec]
    def isServed = join.best.isDefined || demand.aggregates.exists(_.servedBy(join).isRight)
    val placed = join.placeable
      .filterOrElse(!_.isOpen || isServed || hasBegun, Reason.RankedSideBuilt)
    placed.fold(
      reason => {
        stock.setTagValue(MarkRangeJoins.ReasonTag, reason)
        MarkRangeJoins.leave(stock, reason)
        stock
      },
      range => WithTagsOf(stock)(finish(join, range)))
  }

  /** The side that a sort-merge join has to stream for what is wanted, if the range allows it. */
  private def streamedBy(join: SortMergeRangeJoinExec, demand: Demand): Option[Side] =
    for {
      wanted <- demand.aggregates
      sides <- wanted.sides(join.left.outputSet, join.right.outputSet).toOption
      // If either side may be streamed, take the one that the range streams by default.
      side <- if (sides.size == 1) sides.headOption else join.normalForm.toOption.map(_.streamed)
      if WantedPairs.areAll(join.joinType, side)
      if join.copy(streamed = Some(side)).normalForm.isRight
    } yield side

  private def fenced(join: RangeJoinExec): SparkPlan =
    join.withNewChildren(join.children.map(CodegenBoundaryExec(_)))

  /** Over an exchange that builds a range index; None where a broadcast has begun as something else. */
  private def overIndex(join: BroadcastRangeJoinExec): Option[BroadcastRangeJoinExec] =
    condOpt(join.buildPlan) { case exchange: BroadcastExchangeExec =>
      join.withBuildPlan(WithTagsOf(exchange)(join.exchangeOver(exchange.child)))
    }

  // ---------------------------------------------------------------- best matches by range buckets

  /**
   * Of a join by range buckets: copies only the best rows to other buckets, if nothing else is wanted from them
   * ([[BestCopies]]). In a range without an end, each row would be copied to all buckets on one side of its own.
   */
  private def copiesOfBest(join: SortMergeRangeJoinExec): SortMergeRangeJoinExec =
    BestCopies.wanted(join).filter(_ => join.leftKeys.exists(RangeBucketExec.isBucket)) match {
      case Some((LeftSide, order)) =>
        join.copy(right = copying(join.right, join.rightKeys, order))
      case Some((_, order)) => join.copy(left = copying(join.left, join.leftKeys, order))
      case None             => join
    }

  /** The side with the copies, if it is yet to be shuffled. */
  private def copying(side: SparkPlan, keys: Seq[Expression], order: BestOrder): SparkPlan =
    side match {
      case buckets: RangeBucketExec if !buckets.isOwner && isKey(buckets.bucket, keys) =>
        buckets.partitioning.copyBest(order, buckets.output)
        buckets.copy(best = Some(order))
      case node: UnaryExecNode => node.withNewChildren(Seq(copying(node.child, keys, order)))
      case other               => other
    }

  private def isKey(bucket: Attribute, keys: Seq[Expression]): Boolean =
    keys.exists(Predicates.haveSameValue(_, bucket))
}

/** Where code generation has to end because of a range join of two inputs. */
private[plan] object CodegenBoundaries {

  /**
   * `UNION` fuses the code of its children unless it finds a stock join of two inputs below; those of
   * ours it does not know.
   */
  def belowUnions(plan: SparkPlan): SparkPlan = plan.transformUp { case union: UnionExec =>
    union.withNewChildren(union.children.map(child =>
      if (fusesRangeJoin(child)) CodegenBoundaryExec(child) else child))
  }

  private def fusesRangeJoin(plan: SparkPlan): Boolean = plan match {
    case _: TwoInputRangeJoinExec             => true
    case _: Exchange | _: CodegenBoundaryExec => false
    case other                                => other.children.exists(fusesRangeJoin)
  }
}
