// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.condOpt
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  Exchange,
  ShuffleExchangeLike,
  ValidateRequirements
}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.best.RankMatchesExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * Finishes the matches of a streamed row as soon as a range join has found them, if the row is a partition or a group by
 * itself: it has a number, by `monotonically_increasing_id()`. Spark would shuffle the rows, if the join has not, and sort
 * pairs to rank them, or look up the group of each row.
 *
 * {{{
 *   Window, rank <= k              RankMatches           final aggregate           Project       results of buffers
 *     WindowGroupLimit      ──▶      range join            Exchange          ──▶     AggregateMatches
 *       Sort, Exchange                                       AggregateMatches          range join
 *         range join                                           range join
 * }}}
 *
 * Only for outer joins, which keep the rows that they stream: these are never copied to several tasks. And not if an
 * operator above needs the shuffle or the order of what would go.
 *
 * Runs when range joins are in their places.
 */
object MatchesInPlace extends Rule[SparkPlan] {

  /** With more, copies of the matches of a row, which are held in memory, could be large. */
  private val MostRanks = 100

  override def apply(plan: SparkPlan): SparkPlan = {
    val (ranks, aggregates) =
      (conf.getConf(RangeJoinConf.BestMatches), conf.getConf(RangeJoinConf.AggregatedMatches))
    def finishing(plan: SparkPlan): Seq[(SparkPlan, () => Option[SparkPlan])] = plan.collect {
      case window: WindowExec if ranks                => (window, () => ranked(window))
      case aggregate: BaseAggregateExec if aggregates => (aggregate, () => computed(aggregate))
    }
    // From the last one on: what goes with a node are others behind it.
    finishing(plan).indices.foldRight(plan) { (index, placed) =>
      val (node, finished) = finishing(placed)(index)
      finished().map { inPlace =>
        node.logicalLink.foreach(inPlace.setLogicalLink)
        placed.transformUp { case same if same.eq(node) => inPlace }
      }.filter(ValidateRequirements.validate).getOrElse(placed)
    }
  }

  /** A sort or a shuffle for the operator above alone, and what is below it. */
  private object Gathering {
    def unapply(plan: SparkPlan): Option[SparkPlan] = condOpt(plan) {
      case SortExec(_, false, child, _)                                                 => child
      case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin == ENSURE_REQUIREMENTS =>
        shuffle.child
    }
  }

  // ---------------------------------------------------------------- ranks

  private def ranked(window: WindowExec): Option[SparkPlan] =
    for {
      rank <- onlyRank(window)
      limit <- Some(window.child).collect { case l: WindowGroupLimitExec if isOf(l, window) => l }
      pairs = belowRanking(limit, window)
      join <- joinBelow(pairs)
      number <-
        window.partitionSpec.collectFirst {
          case a: Attribute if StreamedNumber.isOf(a, pairs, join) => a
        }
    } yield RankMatchesExec(number, window.orderSpec, limit.limit, rank, pairs)

  private def onlyRank(window: WindowExec): Option[Attribute] = condOpt(window.windowExpression) {
    case Seq(alias @ Alias(WindowExpression(_: RowNumber, _), _)) => alias.toAttribute
  }

  private def isOf(limit: WindowGroupLimitExec, window: WindowExec): Boolean =
    limit.rankLikeFunction.isInstanceOf[RowNumber] && limit.limit <= MostRanks &&
      limit.partitionSpec == window.partitionSpec && limit.orderSpec == window.orderSpec

  /** Below what limits and gathers pairs for the window alone. */
  @tailrec
  private def belowRanking(plan: SparkPlan, window: WindowExec): SparkPlan = plan match {
    case limit: WindowGroupLimitExec if isOf(limit, window) => belowRanking(limit.child, window)
    case Gathering(child)                                   => belowRanking(child, window)
    case pairs                                              => pairs
  }

  private def joinBelow(plan: SparkPlan): Option[RangeJoinExec] = plan match {
    case ProjectExec(_, child) => joinBelow(child)
    case join: RangeJoinExec   =>
      val streamed = join.best.map(_.streamedSide(join.left.outputSet))
      Some(join).filter(j => streamed.exists(StreamedNumber.keeps(j, _)))
    case _ => None
  }

  // ---------------------------------------------------------------- aggregates

  private def computed(aggregate: BaseAggregateExec): Option[SparkPlan] =
    for {
      matches <- buffersBelow(aggregate.children.head) if MergedBuffers.areFinal(aggregate)
      number <- numberOf(aggregate, matches)
    } yield ProjectExec(resultsOf(aggregate, matches), matches.copy(number = Some(number)))

  /** What gives a final aggregate its buffers, below what gathers and merges them. */
  @tailrec
  private def buffersBelow(plan: SparkPlan): Option[AggregateMatchesExec] = plan match {
    case matches: AggregateMatchesExec => Some(matches)
    case Gathering(child)              => buffersBelow(child)
    case MergedBuffers(child)          => buffersBelow(child)
    case _                             => None
  }

  /** The number of the streamed row of each group, if it has one. */
  private def numberOf(
      aggregate: BaseAggregateExec,
      matches: AggregateMatchesExec): Option[Attribute] =
    for {
      join <- matches.join
      if aggregate.groupingExpressions.map(_.toAttribute) == matches.grouping.map(_.toAttribute)
      number <- StreamedNumber.among(matches.grouping, join)
    } yield number

  /** The result of each function by its evaluation, in the columns of the buffers. */
  private def resultsOf(
      aggregate: BaseAggregateExec,
      matches: AggregateMatchesExec): Seq[NamedExpression] = {
    val functions = aggregate.aggregateExpressions.map(f =>
      f -> f.aggregateFunction.asInstanceOf[DeclarativeAggregate])
    val buffers = AttributeMap(functions.flatMap(_._2.aggBufferAttributes).zip(matches.buffers))
    val values = AttributeMap(functions.map { case (function, declarative) =>
      function.resultAttribute -> declarative.evaluateExpression.transform {
        case buffer: Attribute => buffers(buffer)
      }
    })
    aggregate.resultExpressions.map {
      case result: Attribute if values.contains(result) =>
        Alias(values(result), result.name)(result.exprId)
      case result => result.transform { case a: Attribute => values.getOrElse(a, a) }
          .asInstanceOf[NamedExpression]
    }
  }
}

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
    case CodegenBoundaryExec(sort: RangeSortExec) => !sort.mayGroup
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
