// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.rangejoin.best.{BestMatches, Ranking}
import org.apache.spark.sql.rangejoin.condition.{
  JoinCondition,
  MonotoneColumn,
  RangeExtractor,
  Side
}
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/**
 * What an operator reads of the rows below it, if it does not matter how often equal values come:
 *
 * {{{
 *   SELECT DISTINCT l.id, first_value(r.v) OVER (PARTITION BY l.id ORDER BY r.t DESC) FROM l JOIN r ON ..
 * }}}
 *
 * The first value of a window is the same for all rows of a partition, and every other match of a row is one more of the
 * same values.
 *
 * @param readsFirst whether the first or the last row that comes is asked for, which is any row unless they are sorted
 */
private[rangejoin] case class DistinctValues(read: Seq[Expression], readsFirst: Boolean = false)
    extends AliasHelper {

  /** The same in the columns below a projection; None where it is not the same. */
  def below(projected: Seq[NamedExpression]): Option[DistinctValues] =
    if (!projected.forall(_.deterministic)) None
    else {
      val aliases = getAliasMap(projected)
      Some(copy(read.map(replaceAlias(_, aliases))))
    }

  /** The same of rows that are sorted. */
  def inOrder(order: Seq[SortOrder]): DistinctValues =
    if (readsFirst) copy(read ++ order.map(_.child)) else this

  /** The same below a filter. */
  def and(condition: Expression): Option[DistinctValues] =
    if (condition.deterministic) Some(copy(read :+ condition)) else None

  /** What is wanted of a join if all that is read is of one side: one match of each row, whichever it finds first. */
  def anyMatch(join: RangeJoinExec): Option[WantedPairs] = {
    val columns = AttributeSet.fromAttributeSets(read.map(_.references))
    for {
      streamed <- Side.Both.find(side =>
        join.mayStream(side) && columns.subsetOf(side.of(join.left, join.right).outputSet))
      range <- RangeExtractor.extract(JoinCondition.of(join, Some(streamed))).toOption
      column <- (range.sortBound ++ range.evictBound).flatMap(MonotoneColumn.of).headOption
    } yield WantedPairs(
      columns.toSeq,
      BestMatches(SortOrder(column, Ascending), 1, Ranking.RowNumber))
  }

  /** What first and last values of a window want of the pairs below it; None where all pairs are wanted. */
  def firsts(
      functions: Seq[NamedExpression],
      partition: Seq[Expression],
      order: Seq[SortOrder]): Option[WantedPairs] = {
    val ends = functions.map(DistinctValues.endOf).distinct
    val columns = AttributeSet(functions.map(_.toAttribute))
    for {
      by <- order.headOption
      isFirst <- ends.headOption.flatten if ends.size == 1 && !readsFirst
    } yield WantedPairs(
      partition,
      BestMatches(
        if (isFirst) by.copy(sameOrderExpressions = Nil) else DistinctValues.reversed(by),
        1,
        Ranking.ofRowNumber(order)),
      read.flatMap(_.references).filterNot(columns.contains)
    )
  }
}

private[rangejoin] object DistinctValues {

  /** What an operator of a physical plan reads. */
  def of(plan: SparkPlan): Option[DistinctValues] = plan match {
    case aggregate: BaseAggregateExec if !aggregate.isStreaming =>
      of(aggregate.groupingExpressions, aggregate.aggregateExpressions)
    case _ => None
  }

  /** What a logical aggregate reads. */
  def of(aggregate: Aggregate): Option[DistinctValues] =
    of(
      aggregate.groupingExpressions,
      AggregatedPairs.functionsOf(aggregate.aggregateExpressions))

  private def of(
      grouping: Seq[Expression],
      functions: Seq[AggregateExpression]): Option[DistinctValues] = {
    val read = grouping ++ functions.flatMap(f => f.aggregateFunction.children ++ f.filter)
    if (functions.forall(isOfAny) && read.forall(_.deterministic))
      Some(DistinctValues(read, functions.map(_.aggregateFunction).exists(isFirst)))
    else None
  }

  private def isFirst(function: AggregateFunction): Boolean =
    cond(function) { case _: First | _: Last => true }

  /** Whether a function gives the same result if values come again, or may. */
  private def isOfAny(function: AggregateExpression): Boolean = cond(function) {
    case AggregateExpression(of, Partial | Complete, isDistinct, _, _) =>
      isDistinct || isFirst(of) || of.isInstanceOf[Max] || of.isInstanceOf[Min]
  }

  /** Whether a function of a window is the value of its first row (true) or of its last; None if it is another one. */
  private def endOf(function: NamedExpression): Option[Boolean] = function match {
    case Alias(
          WindowExpression(value, WindowSpecDefinition(_, _, frame: SpecifiedWindowFrame)),
          _) =>
      def begins = frame.lower == UnboundedPreceding
      def ends = frame.upper == UnboundedFollowing
      val isFirst = condOpt(value) {
        case AggregateExpression(First(_, false), Complete, _, None, _) => true
        // What Spark makes of it.
        case NthValue(_, IntegerLiteral(1), false)                     => true
        case AggregateExpression(Last(_, false), Complete, _, None, _) => false
      }
      isFirst.filter {
        case true  => begins && (ends || frame.upper == CurrentRow)
        case false => ends && (begins || frame.lower == CurrentRow)
      }
    case _ => None
  }

  private def reversed(order: SortOrder): SortOrder = SortOrder(
    order.child,
    if (order.direction == Ascending) Descending else Ascending,
    if (order.nullOrdering == NullsFirst) NullsLast else NullsFirst,
    Nil)
}
