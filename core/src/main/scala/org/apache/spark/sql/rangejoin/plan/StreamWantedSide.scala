// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.{
  AliasHelper,
  Expression,
  NamedExpression,
  PythonUDF,
  UnsafeRow
}
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.reduce.BestOrder

/**
 * Has an inner join of two small sides without a key broadcast the one whose rows are counted, summed or ranked for each
 * row of the other:
 *
 * {{{
 *   SELECT l.id, sum(r.x) FROM l JOIN r ON r.t <= l.t GROUP BY l.id
 * }}}
 *
 * Spark broadcasts the smaller side. Where that is `l`, its rows cannot be streamed, and all pairs are made.
 *
 * Only where pairs are likely to cost more than an index of the larger side: of ranges with one end, which hold half of
 * all pairs, or where the larger side is not much larger. A hint overrides what is found out later, so it is not given
 * where the larger side may turn out to be far too large: where it has columns of any length, or makes rows. With a key,
 * stock Spark may be fast whatever the sizes are. Not where a hint says something.
 *
 * Runs once, after predicate pushdown (a pre-CBO rule).
 */
object StreamWantedSide extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.Broadcast)) plan
    else
      plan.transformDownWithPruning(WantedPairs.mayBeIn) { case node =>
        val wants = wantsOf(node)
        wants.headOption.fold(node) { case (_, pairs) =>
          node.transformDown { case same if same.eq(pairs) => streaming(wants.map(_._1), pairs) }
        }
      }

  /** What is wanted of the matches of each row of one side. */
  private trait Wants {

    /** The side that has to be streamed for it. */
    def side(join: Join): Option[Side]

    def isServed(range: RangeCondition, join: Join): Boolean

    /** The same in the columns below a projection. */
    def below(projected: Seq[NamedExpression]): Option[Wants]
  }

  private case class Best(wanted: WantedPairs) extends Wants {
    private def best(join: Join) =
      wanted.of(join.left.outputSet, join.right.outputSet).toOption

    override def side(join: Join): Option[Side] =
      best(join).map(_.streamedSide(join.left.outputSet))

    override def isServed(range: RangeCondition, join: Join): Boolean =
      best(join).exists(BestOrder.of(range, _).isDefined)

    override def below(projected: Seq[NamedExpression]): Option[Wants] =
      wanted.below(projected).map(Best)
  }

  private case class Aggregated(grouping: Seq[Expression], functions: Seq[AggregateExpression])
      extends Wants with AliasHelper {

    override def side(join: Join): Option[Side] =
      AggregatedPairs.sides(grouping, functions, join.left.outputSet, join.right.outputSet)
        .toOption.collect { case Seq(side) => side }

    // Spark computes a Python function in a node of its own, between the join and the aggregate.
    override def isServed(range: RangeCondition, join: Join): Boolean =
      range.residual.isEmpty && !(grouping ++ functions).exists(_.exists(_.isInstanceOf[PythonUDF]))

    override def below(projected: Seq[NamedExpression]): Option[Wants] =
      if (!projected.forall(_.deterministic)) None
      else {
        val aliases = getAliasMap(projected)
        Some(Aggregated(
          grouping.map(replaceAlias(_, aliases)),
          functions.map(replaceAlias(_, aliases).asInstanceOf[AggregateExpression])))
      }
  }

  /** What may be wanted of pairs, and the plan that gives them. */
  private def wantsOf(node: LogicalPlan): Seq[(Wants, LogicalPlan)] = {
    val best = if (conf.getConf(RangeJoinConf.BestMatches)) WantedPairs.of(node) else None
    val aggregated = Option(node).collect {
      case aggregate: Aggregate if conf.getConf(RangeJoinConf.AggregatedMatches) =>
        val functions = AggregatedPairs.functionsOf(aggregate.aggregateExpressions)
        Aggregated(aggregate.groupingExpressions, functions) -> aggregate.child
    }.filter(_._1.functions.nonEmpty)
    best.map { case (wanted, pairs) => Best(wanted) -> pairs }.toSeq ++ aggregated
  }

  private def streaming(wants: Seq[Wants], plan: LogicalPlan): LogicalPlan = plan match {
    case project @ Project(columns, child) =>
      project.copy(child = streaming(wants.flatMap(_.below(columns)), child))
    case join: Join =>
      wants.flatMap(each => each.side(join).filter(isWorthIt(join, _, each))).headOption
        .fold(join)(InferOpenRanges.broadcasting(join, _))
    case _ => plan
  }

  private def isWorthIt(join: Join, side: Side, wants: Wants): Boolean =
    join.joinType.isInstanceOf[InnerLike] && join.hint == JoinHint.NONE && !join.isStreaming &&
      PartitionRangeJoins.isWithoutKeys(join) && {
        val (streamed, other) =
          (side.of(join).stats.sizeInBytes, side.other.of(join).stats.sizeInBytes)
        other <= conf.autoBroadcastJoinThreshold && streamed <= other &&
        streamed >= InferOpenRanges.LeastStreamed && hasEstimate(side.other.of(join)) &&
        RangeExtractor.extract(join, Some(side)).exists { range =>
          wants.isServed(range, join) && (range.isOneSided || other <= streamed * MostTimes)
        }
      }

  /** Whether Spark's estimate of the size of a plan means something: of others it may be far too low. */
  private def hasEstimate(plan: LogicalPlan): Boolean =
    plan.output.forall(column => UnsafeRow.isFixedLength(column.dataType)) && !plan.exists {
      case _: LeafNode | _: Project | _: Filter | _: Aggregate | _: Join | _: Union | _: Sort |
          _: Window | _: LocalLimit | _: GlobalLimit | _: RepartitionOperation =>
        false
      case _ => true
    }

  /** An index of so many times the rows costs little more than one of the smaller side. */
  private val MostTimes = 4
}
