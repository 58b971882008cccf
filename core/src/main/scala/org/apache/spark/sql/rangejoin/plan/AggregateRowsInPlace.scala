// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.{ProjectExec, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * Computes the results of aggregate functions as soon as a range join has aggregated the matches of a row, where each
 * streamed row is a group by itself: it has a number, by `monotonically_increasing_id()`. The final aggregate of Spark
 * would shuffle the rows, if the join has not, and look up the group of each.
 *
 * {{{
 *   final aggregate                Project             the results, of the buffers of the row
 *     Exchange                       AggregateMatches
 *       AggregateMatches    ──▶        range join
 *         range join
 * }}}
 *
 * Only for outer joins, which keep the rows that they stream: these are never copied to several tasks.
 *
 * Runs when joins aggregate matches.
 */
object AggregateRowsInPlace extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.AggregatedMatches)) plan
    else {
      ReplaceWhereValid[BaseAggregateExec](plan) { aggregate =>
        for (matches <- matchesBelow(aggregate); number <- numberOf(aggregate, matches)) yield {
          val results =
            ProjectExec(resultsOf(aggregate, matches), matches.copy(number = Some(number)))
          aggregate.logicalLink.foreach(results.setLogicalLink)
          results
        }
      }
    }

  /** What gives a final aggregate its buffers, below what gathers and merges them. */
  private def matchesBelow(aggregate: BaseAggregateExec): Option[AggregateMatchesExec] =
    if (MergedBuffers.areOf(aggregate, Final)) buffersBelow(aggregate.children.head) else None

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
      if join.aggregatedFor.exists(StreamedNumber.keeps(join, _))
      number <- matches.grouping.collectFirst {
        case a: Attribute if StreamedNumber.isOf(a, join)           => a
        case Alias(a: Attribute, _) if StreamedNumber.isOf(a, join) => a
      }
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
