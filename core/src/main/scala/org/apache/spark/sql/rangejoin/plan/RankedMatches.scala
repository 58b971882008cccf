/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.reduce.{BestMatches, BestOrder, Ranking}
import org.apache.spark.sql.types.{IntegerType, MetadataBuilder}

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
 * The join finds the best matches of a row by itself ([[WantBestMatches]]), and ranks them in place
 * ([[RankMatchesInPlace]]). Partitions have the keys of the join, too, so that its rows need no other shuffle.
 * It keeps left rows without a match, whatever is made of it: of an inner join Spark may broadcast the left
 * side, which then cannot be streamed.
 *
 * @param plan has all columns of both sides, and others
 * @param right the columns of the right side
 * @param isMatch whether a row of it has a match
 */
private[plan] case class RankedMatches(
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

private[plan] object RankedMatches {

  private val NumberKey = "rangejoin.rowNumber"

  /** Marks the number of each left row. */
  private val Number = new MetadataBuilder().putBoolean(NumberKey, true).build()

  /** None where no range join finds the best matches of these sides by this order. */
  def of(
      left: LogicalPlan,
      right: LogicalPlan,
      conditions: Seq[Expression],
      order: Seq[SortOrder],
      limit: Int): Option[RankedMatches] = {
    val id = Alias(MonotonicallyIncreasingID(), "id")(explicitMetadata = Some(Number))
    val numbered = Project(left.output :+ id, left)
    val wanted = WantedPairs(
      Seq(id.toAttribute),
      BestMatches(order.head.copy(sameOrderExpressions = Nil), limit, Ranking.ofRowNumber(order)))
    for {
      best <- wanted.of(numbered.outputSet, right.outputSet).toOption
      if !left.isStreaming && !right.isStreaming
      if !conditions.exists(hasPythonOfBoth(_, left, right))
      join <- joined(numbered, right, conditions, best)
      column <- best.column
      if !column.nullable || join.condition.exists(Predicates.refusesNull(_, column))
    } yield RankedMatches(
      ranked(join, order, limit, id.toAttribute),
      right.outputSet,
      IsNotNull(column))
  }

  /** Spark has no outer join with such a condition; a filter above would come after the choice. */
  private def hasPythonOfBoth(e: Expression, left: LogicalPlan, right: LogicalPlan): Boolean =
    e.exists {
      case udf: PythonUDF =>
        Seq(left, right).forall(side => !udf.references.subsetOf(side.outputSet))
      case _ => false
    }

  private def joined(
      left: LogicalPlan,
      right: LogicalPlan,
      conditions: Seq[Expression],
      best: BestMatches): Option[Join] = {
    def by(conjuncts: Seq[Expression]) =
      Join(left, right, LeftOuter, conjuncts.reduceOption(And(_, _)), JoinHint.NONE)
    val join = by(conditions)
    if (isServed(join, best)) Some(join)
    else InferOpenRanges.of(join, best)
  }

  private def ranked(join: Join, order: Seq[SortOrder], limit: Int, id: Attribute): LogicalPlan = {
    val partition = keysOf(join) :+ id
    val frame = SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)
    val rank = Alias(
      WindowExpression(RowNumber(), WindowSpecDefinition(partition, order, frame)),
      "rank")()
    val window = Window(Seq(rank), partition, order, join)
    Filter(LessThanOrEqual(rank.toAttribute, Literal(limit, IntegerType)), window)
  }

  /** The left keys, as the rows of the join are distributed. */
  private def keysOf(join: Join): Seq[Expression] = join match {
    case ExtractEquiJoinKeys(_, keys, _, _, _, _, _, _) => keys.distinct
    case _                                              => Nil
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
    side.stats.sizeInBytes <= SQLConf.get.autoBroadcastJoinThreshold

  /** The numbers of rows that a plan adds, seen through filters and limits. */
  def numbers(left: LogicalPlan): AttributeSet = left match {
    case Project(columns, _) => AttributeSet(columns.collect {
        case alias: Alias if alias.metadata.contains(NumberKey) => alias.toAttribute
      })
    case _: Filter | _: LocalLimit => numbers(left.children.head)
    case _                         => AttributeSet.empty
  }

  /** The window of a ranking, and the join below it. */
  object OfWindow {
    def unapply(plan: LogicalPlan): Option[(Window, Join)] = plan match {
      case window: Window =>
        joinBelow(window.child).filter { join =>
          val partition = AttributeSet.fromAttributeSets(window.partitionSpec.map(_.references))
          window.windowExpressions.forall(isRowNumber) && join.joinType == LeftOuter &&
          numbers(join.left).exists(partition.contains)
        }.map(window -> _)
      case _ => None
    }
  }

  /** The join of a ranking of which each left row comes out once, with its first match if it has one. */
  object First {
    def unapply(plan: LogicalPlan): Option[Join] = plan match {
      case Filter(LessThanOrEqual(rank: Attribute, IntegerLiteral(1)), OfWindow(window, join))
          if window.windowExpressions.exists(_.exprId == rank.exprId) => Some(join)
      case _ => None
    }
  }

  /** A ranking, or what is above it, with another left side of its join. */
  def withLeft(plan: LogicalPlan, left: LogicalPlan): LogicalPlan = plan match {
    case join: Join => join.copy(left = left)
    case other      => other.withNewChildren(other.children.map(withLeft(_, left)))
  }

  private def joinBelow(plan: LogicalPlan): Option[Join] = plan match {
    case join: Join                                                           => Some(join)
    case Project(columns, child) if columns.forall(_.isInstanceOf[Attribute]) => joinBelow(child)
    case _                                                                    => None
  }

  private def isRowNumber(column: NamedExpression): Boolean = column match {
    case Alias(WindowExpression(_: RowNumber, _), _) => true
    case _                                           => false
  }
}
