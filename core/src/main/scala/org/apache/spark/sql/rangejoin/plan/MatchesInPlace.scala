// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  ShuffleExchangeLike,
  ValidateRequirements
}
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.best.RankMatchesExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

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
    def finishing(plan: SparkPlan) = plan.collect {
      case window: WindowExec if ranks                => window
      case aggregate: BaseAggregateExec if aggregates => aggregate
    }
    // From the last one on: what goes with a node are others behind it.
    finishing(plan).indices.foldRight(plan) { (index, placed) =>
      val node = finishing(placed)(index)
      val finished = node match {
        case window: WindowExec           => ranked(window)
        case aggregate: BaseAggregateExec => computed(aggregate)
        case _                            => None
      }
      finished.map { inPlace =>
        node.logicalLink.foreach(inPlace.setLogicalLink)
        placed.transformUp { case same if same.eq(node) => inPlace }
      }.filter(ValidateRequirements.validate).getOrElse(placed)
    }
  }

  /** A sort or a shuffle for the operator above alone, and what is below it. */
  private object Gathering {
    def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
      case SortExec(_, false, child, _) => Some(child)
      case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin == ENSURE_REQUIREMENTS =>
        Some(shuffle.child)
      case _ => None
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

  private def onlyRank(window: WindowExec): Option[Attribute] = window.windowExpression match {
    case Seq(alias @ Alias(WindowExpression(_: RowNumber, _), _)) => Some(alias.toAttribute)
    case _                                                        => None
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
      matches <-
        if (MergedBuffers.areFinal(aggregate)) buffersBelow(aggregate.children.head) else None
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
