// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.best.{BestMatches, BestOrder, Ranking}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.plan.{KnownSize, ServeDemand, WantedPairs}
import org.apache.spark.sql.types.IntegerType

/**
 * The best matches of each left row, as plain operators of Spark's:
 *
 * {{{
 *   Filter    rank <= limit
 *     Window    row_number() by the order, in partitions of a left row
 *       Join      LEFT OUTER, by the conditions
 *         Project   the left side, and a number of each row
 * }}}
 *
 * The join finds the best matches of a row by itself (`PlaceRangeJoins`), and ranks them in place
 * (`MatchesInPlace`). Partitions have the keys of the join, too, so that its rows need no other shuffle.
 * It keeps left rows without a match, whatever is made of it: of an inner join Spark may broadcast the left
 * side, which then cannot be streamed.
 *
 * @param plan has all columns of both sides, and others
 * @param right the columns of the right side
 * @param isMatch whether a row of it has a match
 */
private[rewrite] case class RankedMatches(
    plan: LogicalPlan,
    right: AttributeSet,
    isMatch: Expression) {

  /** Without the rows that have no match. */
  def matched: LogicalPlan = Filter(isMatch, plan)

  /** A value that is NULL where a row has no match. */
  def onMatch(value: Expression): Expression = value match {
    case a: Attribute if right.contains(a) => a
    case other                             => If(isMatch, other, Literal(null, other.dataType))
  }
}

private[rewrite] object RankedMatches {

  /** None where no range join finds the best matches of these sides by this order. */
  def of(
      left: LogicalPlan,
      right: LogicalPlan,
      conditions: Seq[Expression],
      order: Seq[SortOrder],
      limit: Int): Option[RankedMatches] = {
    val (numbered, id) = NumberedRows.of(left)
    val wanted = WantedPairs(
      Seq(id),
      BestMatches(order.head.copy(sameOrderExpressions = Nil), limit, Ranking.ofRowNumber(order)))
    for {
      best <- wanted.of(numbered.outputSet, right.outputSet).toOption
      if NumberedRows.canJoin(left, right, conditions)
      join <- served(NumberedRows.joined(numbered, right, conditions), best)
      if NumberedRows.rangeOfRow(join).isDefined
      column <- best.column
      if !column.nullable || join.condition.exists(Predicates.refusesNull(_, column))
    } yield RankedMatches(
      ranked(join, order, limit, id),
      right.outputSet,
      IsNotNull(column))
  }

  private def served(join: Join, best: BestMatches): Option[Join] =
    if (isServed(join, best)) Some(join) else ServeDemand.withOpenRange(join, best)

  private def ranked(join: Join, order: Seq[SortOrder], limit: Int, id: Attribute): LogicalPlan = {
    val partition = NumberedRows.keysOf(join) :+ id
    val (window, rank) = numbered(join, RowNumber(), partition, order)
    Filter(LessThanOrEqual(rank, Literal(limit, IntegerType)), window)
  }

  /** Rows with their place in their partition, and that place. */
  def numbered(
      rows: LogicalPlan,
      by: Expression,
      partition: Seq[Expression],
      order: Seq[SortOrder]): (Window, Attribute) = {
    val frame = SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)
    val spec = WindowSpecDefinition(partition, order, frame)
    val place = Alias(WindowExpression(by, spec), "rank")()
    (Window(Seq(place), partition, order, rows), place.toAttribute)
  }

  /** Whether a range join of these sides finds the best matches of left rows. */
  private def isServed(join: Join, best: BestMatches): Boolean = {
    val hasKeys = Predicates.conditionBesideKeys(join).isDefined
    RangeExtractor.extract(join, Some(LeftSide)).exists { range =>
      BestOrder.of(range, best).isDefined &&
      (hasKeys || !range.isOneSided || isSmall(join.right))
    }
  }

  /** Without a key or a second end, only a broadcast spares the comparison of all rows with all. */
  private def isSmall(side: LogicalPlan): Boolean =
    KnownSize.of(side).exists(_ <= SQLConf.get.autoBroadcastJoinThreshold)

  /** The window of a ranking, and the join below it. */
  object OfWindow {
    def unapply(plan: LogicalPlan): Option[(Window, Join)] = plan match {
      case window: Window if window.windowExpressions.forall(isRowNumber) =>
        NumberedRows.joinBelow(window.child, window.partitionSpec).map(window -> _)
      case _ => None
    }
  }

  /** The join of a ranking of which each left row comes out once, with its first match if it has one. */
  object First {
    def unapply(plan: LogicalPlan): Option[Join] = condOpt(plan) {
      case Filter(LessThanOrEqual(rank: Attribute, IntegerLiteral(1)), OfWindow(window, join))
          if window.windowExpressions.exists(_.exprId == rank.exprId) => join
    }
  }

  private def isRowNumber(column: NamedExpression): Boolean =
    cond(column) { case Alias(WindowExpression(_: RowNumber, _), _) => true }
}
