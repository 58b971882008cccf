// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Predicates, RangeCondition}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.plan.AggregatedPairs

/**
 * The aggregated matches of each left row, as plain operators of Spark's:
 *
 * {{{
 *   Project       the left columns, and the functions
 *     Aggregate     by the keys of the join, the number of the left row, and its columns
 *       Join          LEFT OUTER, by the conditions
 *         Project       the left side, and a number of each row
 * }}}
 *
 * The join aggregates the matches of a row by itself, and as each row is a group by itself, nothing has to be
 * merged (`MatchesInPlace`). The keys are among the groups so that Spark would not shuffle pairs
 * once more.
 *
 * @param plan has all left columns, and others
 * @param values what a function is in its columns, by the id of its result
 */
private[rewrite] case class AggregatedMatches(plan: LogicalPlan, values: Map[ExprId, Attribute])

private[rewrite] object AggregatedMatches {

  /** None where no range join with a key aggregates the matches of these sides. */
  def of(
      left: LogicalPlan,
      right: LogicalPlan,
      conditions: Seq[Expression],
      functions: Seq[AggregateExpression]): Option[AggregatedMatches] = {
    val (numbered, id) = NumberedRows.of(left)
    val (ofRight, ofBoth) = conditions.partition(_.references.subsetOf(right.outputSet))
    val filtered = ofRight.reduceOption(And(_, _)).fold(right)(Filter(_, right))
    val join = NumberedRows.joined(numbered, filtered, ofBoth)
    for {
      condition <- join.condition
      if isServed(join) && NumberedRows.canJoin(left, right, conditions)
      range <- NumberedRows.rangeOfRow(join)
      column <- Predicates.columnOfMatch(condition, rangeFirst(right.output, range))
      ofMatches = functions.map(f => nullable(onlyOfMatches(f, right.outputSet, column), right))
      sides <-
        AggregatedPairs(Seq(id), ofMatches).sides(numbered.outputSet, right.outputSet).toOption
      if sides.contains(LeftSide) && !ofMatches.exists(_.exists(_.isInstanceOf[PythonUDF]))
    } yield aggregated(join, left.output, id, ofMatches)
  }

  /** Without a key Spark joins and aggregates distinct left values by the range. */
  private def isServed(join: Join): Boolean =
    SQLConf.get.getConf(RangeJoinConf.AggregatedMatches) &&
      NumberedRows.keysOf(join).nonEmpty

  /** First those that matches are in the order of: a function of a window may ask whether they are NULL. */
  private def rangeFirst(columns: Seq[Attribute], range: RangeCondition): Seq[Attribute] = {
    val (first, others) =
      columns.partition(column => range.sortBound.exists(_.child.semanticEquals(column)))
    first ++ others
  }

  /** A function that passes over the right columns of a left row without a match, which are NULL. */
  private def onlyOfMatches(
      function: AggregateExpression,
      right: AttributeSet,
      column: Attribute): AggregateExpression =
    function.aggregateFunction match {
      case Count(Seq(Literal(value, _))) if value != null && function.filter.isEmpty =>
        function.copy(aggregateFunction = Count(column))
      case _: Count | _: Sum | _: Average | _: Min | _: Max
          if function.aggregateFunction.children.forall(isColumn(_, right)) => function
      case _ =>
        val isMatch = IsNotNull(column)
        function.copy(filter = Some(function.filter.fold[Expression](isMatch)(And(isMatch, _))))
    }

  /** The right columns are NULL where there is no match. */
  private def nullable(function: AggregateExpression, right: LogicalPlan): AggregateExpression =
    function.transform {
      case a: Attribute if right.outputSet.contains(a) => a.withNullability(true)
    }
      .asInstanceOf[AggregateExpression]

  private def isColumn(e: Expression, side: AttributeSet): Boolean = e match {
    case a: Attribute => side.contains(a)
    case _            => false
  }

  private def aggregated(
      join: Join,
      left: Seq[Attribute],
      id: Attribute,
      functions: Seq[AggregateExpression]): AggregatedMatches = {
    val (grouped, others) = left.partition(column => NumberedRows.areEqualSame(column.dataType))
    val kept = AttributeMap(others.map(column =>
      column -> Alias(MaxBy(column, id).toAggregateExpression(), column.name)()))
    val results = functions.map(f => Alias(f, f.aggregateFunction.prettyName)())
    val aggregate = Aggregate(
      (NumberedRows.keysOf(join) ++ Seq(id) ++ grouped).distinct,
      grouped ++ others.map(kept) ++ results,
      join)
    val columns = left.map(column =>
      kept.get(column).fold[NamedExpression](column)(alias =>
        Alias(alias.toAttribute, column.name)(
          column.exprId,
          column.qualifier,
          Some(column.metadata))))
    AggregatedMatches(
      Project(columns ++ results.map(_.toAttribute), aggregate),
      functions.map(_.resultId).zip(results.map(_.toAttribute)).toMap)
  }

  /** Such an aggregate, and the join below it. */
  object OfRows {
    def unapply(plan: LogicalPlan): Option[(Aggregate, Join)] = plan match {
      case aggregate: Aggregate =>
        NumberedRows.joinBelow(aggregate.child, aggregate.groupingExpressions).map(aggregate -> _)
      case _ => None
    }
  }

  /** What an expression over an aggregate is in the columns of the row that its group is. */
  def ofRow(e: Expression): Expression = e.transform {
    case AggregateExpression(MaxBy(value, id: Attribute), _, false, None, _)
        if NumberedRows.isNumber(id) => value
  }
}
