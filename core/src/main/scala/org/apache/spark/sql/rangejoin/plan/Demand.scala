// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.catalyst.expressions.{Expression, NamedExpression, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Project, Window}
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeLike}
import org.apache.spark.sql.execution.window.WindowExec
import org.apache.spark.sql.execution.{ExpandExec, FilterExec, ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.best.BestMatches
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/**
 * What the operator above wants of the rows of a plan, in the columns of that plan: the best matches of each row, or
 * aggregates of the matches of each row. If it wants neither, it wants all pairs.
 *
 * It is handed down from the operator, through projections and sorts, to the join. What the operator makes of the rows
 * stays the same whatever the join returns for it, as long as the join returns at least what is wanted.
 *
 * @param distinct what is read of rows if it does not matter how often equal values come, as DISTINCT reads them: of one
 *   side alone any match of a row will do, and of the first value of a window the best one
 */
private[rangejoin] case class Demand(
    best: Option[WantedPairs] = None,
    aggregates: Option[AggregatedPairs] = None,
    distinct: Option[DistinctValues] = None) {

  /** What is wanted of the children of an operator, if this is what is wanted of its own rows. */
  def below(operator: SparkPlan): Demand = operator match {
    case SortExec(order, false, _, _) => sorted(order)
    case ProjectExec(columns, _)      => below(columns)
    case expand: ExpandExec           => Demand(None, aggregates.flatMap(_.below(expand)))
    // Buffers in the place of pairs have other columns. Other shuffles may be there to be read by several.
    case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin == ENSURE_REQUIREMENTS =>
      copy(aggregates = None)
    case FilterExec(condition, _) => filtered(condition)
    case window: WindowExec       =>
      ranked(_.firsts(window.windowExpression, window.partitionSpec, window.orderSpec))
    case other => Demand.of(other)
  }

  /** The same for a logical plan. */
  def below(operator: LogicalPlan): Demand = operator match {
    case Project(columns, _)  => below(columns)
    case aggregate: Aggregate =>
      Demand.of(
        WantedPairs.of(aggregate),
        AggregatedPairs.of(aggregate),
        DistinctValues.of(aggregate))
    case Filter(condition, _) => filtered(condition)
    case window: Window       =>
      ranked(_.firsts(window.windowExpressions, window.partitionSpec, window.orderSpec))
    case _ => Demand.AllRows
  }

  /** Which row comes first is read of the order in which rows are sorted. */
  private def sorted(order: Seq[SortOrder]): Demand =
    copy(best = best.map(_.inOrder(order)), distinct = distinct.map(_.inOrder(order)))

  /** Rows of the same values pass a filter or do not. */
  private def filtered(condition: Expression): Demand =
    Demand(distinct = distinct.flatMap(_.and(condition)))

  private def ranked(firsts: DistinctValues => Option[WantedPairs]): Demand =
    Demand(best = distinct.flatMap(firsts))

  /** The same in the columns below a projection. */
  def below(columns: Seq[NamedExpression]): Demand =
    Demand(
      best.flatMap(_.below(columns)),
      aggregates.map(_.below(columns)),
      distinct.flatMap(_.below(columns)))

  /** The best matches that a join is to return; or why it has to return all. */
  def bestOf(join: RangeJoinExec): Option[Either[String, BestMatches]] = {
    val ranked = bestOf(join, best)
    if (ranked.exists(_.isRight)) ranked
    else bestOf(join, distinct.flatMap(_.anyMatch(join))).filter(_.isRight).orElse(ranked)
  }

  private def bestOf(
      join: RangeJoinExec,
      best: Option[WantedPairs]): Option[Either[String, BestMatches]] = best.map { wanted =>
    val left = join.left.outputSet
    wanted.of(left, join.right.outputSet, join.leftKeys.zip(join.rightKeys))
      .filterOrElse(
        best => WantedPairs.areAll(join.joinType, best.streamedSide(left)),
        "write an INNER join, or an outer one that keeps the rows that are ranked for")
      .filterOrElse(
        best => join.mayStream(best.streamedSide(left)),
        "let Spark broadcast the other side, or neither: the rows that are ranked for are in an index"
      )
  }

  /** Why a range join returns all pairs to an operator that ranks or aggregates them, as a remedy. */
  def refusalOf(join: RangeJoinExec): Option[String] = {
    val ranked = bestOf(join, best).filter(_ => join.best.isEmpty).map { wanted =>
      val remedy = wanted.fold(identity, best => Demand.orderByRange(best))
      s"every match of a row is produced and then ranked; to produce only the best ones, $remedy"
    }
    def aggregated = aggregates.flatMap(_.servedBy(join).left.toOption).map { remedy =>
      s"every match of a row is produced and then aggregated: $remedy"
    }
    ranked.orElse(aggregated)
  }
}

private[rangejoin] object Demand {

  /** All rows are wanted. */
  val AllRows: Demand = Demand()

  /** What a filter of ranks wants of the pairs that a window ranks. */
  def below(ranks: Filter, window: Window): Demand =
    of(WantedPairs.of(ranks, window), None, None)

  /** What an operator wants of its input. */
  private def of(operator: SparkPlan): Demand =
    of(WantedPairs.of(operator), AggregatedPairs.of(operator), DistinctValues.of(operator))

  /** What settings allow of it. */
  private def of(
      best: => Option[WantedPairs],
      aggregates: => Option[AggregatedPairs],
      distinct: => Option[DistinctValues]): Demand = {
    def isOn(entry: ConfigEntry[Boolean]) = SQLConf.get.getConf(entry)
    val findsBest = isOn(RangeJoinConf.BestMatches)
    Demand(
      if (findsBest) best else None,
      if (isOn(RangeJoinConf.AggregatedMatches)) aggregates else None,
      if (findsBest) distinct else None)
  }

  private def orderByRange(best: BestMatches): String =
    s"order by a column that the range rises with, and not by ${best.rankedBy(_.sql)}"
}
