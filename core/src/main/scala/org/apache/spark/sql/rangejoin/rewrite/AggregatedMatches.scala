// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Predicates, RangeCondition}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.plan.AggregatedPairs
import org.apache.spark.sql.types.LongType

/**
 * The aggregated matches of each left row, as plain operators of Spark's:
 *
 * {{{
 *   Aggregate     by the keys of the join, the number of the left row, and its columns: these, and the functions
 *     Join          LEFT OUTER, by the conditions
 *       Project       the left side, and a number of each row
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
    val renamed = Renamed.of(left.output)
    val (numbered, id) = NumberedRows.of(renamed.over(left))
    val (ofRight, ofBoth) =
      conditions.map(renamed(_)).partition(_.references.subsetOf(right.outputSet))
    val filtered = ofRight.reduceOption(And(_, _)).fold(right)(Filter(_, right))
    val join = NumberedRows.joined(numbered, filtered, ofBoth)
    for {
      condition <- join.condition
      if isServed(join) && NumberedRows.canJoin(numbered, right, ofBoth)
      range <- NumberedRows.rangeOfRow(join)
      column <- Predicates.columnOfMatch(condition, rangeFirst(right.output, range))
      ofMatches = functions.map(f =>
        nullable(onlyOfMatches(renamed(f), right.outputSet, column), right))
      ofJoin = AggregatedPairs(Seq(id), ofMatches.filterNot(isOfPairs))
      sides <- ofJoin.sides(numbered.outputSet, right.outputSet).toOption
      if sides.contains(LeftSide) && !ofMatches.exists(_.exists(_.isInstanceOf[PythonUDF]))
    } yield aggregated(join, left.output, renamed, id, ofMatches)
  }

  /**
   * Left columns that have other names below the aggregate: it does not group by them, and gives them again by a function.
   * A function whose result has the id of a column that it reads is no valid plan.
   */
  private case class Renamed(names: AttributeMap[Alias]) {
    def over(left: LogicalPlan): LogicalPlan =
      if (names.isEmpty) left
      else Project(left.output.map(column => names.getOrElse(column, column)), left)

    def apply[E <: Expression](e: E): E =
      e.transform { case a: Attribute => names.get(a).fold(a)(_.toAttribute) }.asInstanceOf[E]
  }

  private object Renamed {
    def of(columns: Seq[Attribute]): Renamed = Renamed(AttributeMap(
      columns.filterNot(column => NumberedRows.areEqualSame(column.dataType))
        .map(column => column -> Alias(column, s"${column.name} of row")())))
  }

  /**
   * Whether a function takes pairs, and of none gives what a subquery without rows does. The join makes pairs then, of a
   * key and not of all rows in range.
   */
  private def isOfPairs(function: AggregateExpression): Boolean =
    !function.isDistinct && (function.aggregateFunction.children ++ function.filter).forall(
      _.deterministic) && cond(function.aggregateFunction) {
      case _: Collect[_] | _: TypedAggregateWithHashMapAsBuffer | _: ApproximatePercentile |
          _: HyperLogLogPlusPlus => true
    }

  /**
   * The same with the size of a set in the place of a count of distinct values. Spark would shuffle a row for each value
   * of a left row; these are no more than its matches.
   */
  def withSets(column: NamedExpression): NamedExpression = column.transform {
    case f @ AggregateExpression(Count(Seq(value)), _, true, _, _)
        if NumberedRows.areEqualSame(value.dataType) =>
      val set = f.copy(aggregateFunction = CollectSet(value), isDistinct = false)
      Cast(Size(set, legacySizeOfNull = false), LongType)
  }.asInstanceOf[NamedExpression]

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
          if function.aggregateFunction.children.forall(isColumn(_, right)) &&
            function.filter.forall(Predicates.neverRaises) => function
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

  private def isColumn(e: Expression, side: AttributeSet): Boolean =
    cond(e) { case a: Attribute => side.contains(a) }

  private def aggregated(
      join: Join,
      left: Seq[Attribute],
      renamed: Renamed,
      id: Attribute,
      functions: Seq[AggregateExpression]): AggregatedMatches = {
    val grouped = left.filterNot(renamed.names.contains)
    val columns = left.map { column =>
      renamed.names.get(column).fold[NamedExpression](column) { below =>
        NumberedRows.named(MaxBy(below.toAttribute, id).toAggregateExpression(), column)
      }
    }
    val results = functions.map(f => Alias(f, f.aggregateFunction.prettyName)())
    AggregatedMatches(
      Aggregate(
        (NumberedRows.keysOf(join) ++ Seq(id) ++ grouped).distinct,
        columns ++ results,
        join),
      functions.map(_.resultId).zip(results.map(_.toAttribute)).toMap
    )
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
