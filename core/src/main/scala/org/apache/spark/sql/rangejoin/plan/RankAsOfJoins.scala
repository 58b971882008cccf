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

import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftOuter}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.reduce.{BestMatches, BestOrder, Ranking}
import org.apache.spark.sql.types.IntegerType

/**
 * Makes an as-of join of Spark's (`DataFrame._joinAsOf`, `merge_asof`, `ASOF JOIN`) a range join and a
 * ranking of the matches of each left row:
 *
 * {{{
 *   Project   the columns of the node
 *     Filter    rank = 1
 *       Window    row_number() by the distance, in partitions of a left row
 *         Join      by the condition of the node
 *           Project   the left side, and a number of each row
 * }}}
 *
 * Spark's own way is a scalar subquery, which joins the distinct left values with all rows of the right side,
 * whatever their keys. Here the join finds the best match of a row by itself ([[WantBestMatches]]). Partitions
 * have the keys of the join, too, so that its rows need no other shuffle.
 *
 * Runs before the optimizer, which would have no such node any more. A node whose best matches no range join
 * finds is left to Spark.
 */
object RankAsOfJoins extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.BestMatches) ||
      !conf.getConf(RangeJoinConf.AsOf)) plan
    else
      plan.transformDownWithSubqueries {
        case filter @ Filter(condition, child) =>
          val (ofLeft, others) = Predicates.split(condition).partition(_.deterministic)
          val below = ofLeft.foldLeft((child, Seq.empty[Expression])) {
            case ((under, kept), predicate) =>
              pushed(predicate, under).fold((under, kept :+ predicate))(_ -> kept)
          }
          if (below._1.eq(child)) filter
          else (below._2 ++ others).reduceOption(And(_, _))
            .fold(rankedOrNot(below._1))(Filter(_, below._1))
        case join: AsOfJoin => rankedOrNot(join)
      }

  private def rankedOrNot(plan: LogicalPlan): LogicalPlan = plan match {
    case join: AsOfJoin => ranked(join).getOrElse(join)
    case other          => other
  }

  /** A filter on columns of the left side, below the join; Spark cannot tell that it may be there. */
  private def pushed(predicate: Expression, plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case join: AsOfJoin
        if predicate.references.nonEmpty && predicate.references.subsetOf(join.left.outputSet) &&
          !SubqueryExpression.hasSubquery(predicate) && ranked(join).isDefined =>
      Some(join.copy(left = Filter(predicate, join.left)))
    case project @ Project(columns, child) if columns.forall(_.isInstanceOf[Attribute]) =>
      pushed(predicate, child).map(under => project.copy(child = under))
    case alias: SubqueryAlias if predicate.references.subsetOf(alias.child.outputSet) =>
      pushed(predicate, alias.child).map(under => alias.copy(child = under))
    case _ => None
  }

  private def ranked(node: AsOfJoin): Option[LogicalPlan] = {
    val id = Alias(MonotonicallyIncreasingID(), "id")()
    val left = Project(node.left.output :+ id, node.left)
    for {
      best <- nearestOf(node)
      if !node.isStreaming && !isCorrelated(node)
      join <- joined(node, left, best)
      if node.output.forall(join.outputSet.contains)
    } yield bestOf(node, join, best, id.toAttribute)
  }

  private def nearestOf(node: AsOfJoin): Option[BestMatches] =
    Distance.of(node.orderExpression, node.left.outputSet, node.right.outputSet).flatMap {
      BestMatches(SortOrder(node.orderExpression, Ascending), 1, Ranking.RowNumber).by(_)
    }

  /**
   * The join that finds the nearest rows. It keeps left rows without a match, whatever the node does: of an
   * inner join Spark may broadcast the left side, which then cannot be streamed.
   */
  private def joined(node: AsOfJoin, left: LogicalPlan, best: BestMatches): Option[Join] = {
    val conditions = node.condition.toSeq ++ Some(node.asOfCondition).filterNot(_ == TrueLiteral)
    def by(conjuncts: Seq[Expression]) =
      Join(left, node.right, LeftOuter, conjuncts.reduceOption(And(_, _)), JoinHint.NONE)
    val join = by(conditions)
    if (isServed(join, best)) Some(join)
    else {
      // The nearest of all: a NULL is near to nothing.
      val times = (best.point ++ best.column).filter(_.nullable).map(IsNotNull(_))
      InferOpenRanges.of(by(conditions ++ times), best)
    }
  }

  private def bestOf(
      node: AsOfJoin,
      join: Join,
      best: BestMatches,
      id: Attribute): LogicalPlan = {
    val partition = keysOf(join) :+ id
    val order = Seq(SortOrder(node.orderExpression, Ascending))
    val frame = SpecifiedWindowFrame(RowFrame, UnboundedPreceding, CurrentRow)
    val rank = Alias(
      WindowExpression(RowNumber(), WindowSpecDefinition(partition, order, frame)),
      "rank")()
    val isFirst = EqualTo(rank.toAttribute, Literal(1, IntegerType))
    val isWanted = node.joinType match {
      case Inner => And(isFirst, IsNotNull(best.order.child))
      case _     => isFirst
    }
    val window = Window(Seq(rank), partition, order, join)
    Project(node.output, Filter(isWanted, window))
  }

  /** A subquery that reads columns of the query around it is rewritten by Spark, which has to know the node. */
  private def isCorrelated(node: AsOfJoin): Boolean =
    node.exists(_.expressions.exists(_.exists(_.isInstanceOf[OuterReference])))

  /** The left keys, as the rows of the join are distributed. */
  private def keysOf(join: Join): Seq[Expression] = join match {
    case ExtractEquiJoinKeys(_, keys, _, _, _, _, _, _) => keys.distinct
    case _                                              => Nil
  }

  /** Whether a range join of these sides finds the best matches of left rows. */
  private def isServed(join: Join, best: BestMatches): Boolean = {
    val withoutKeys = Predicates.conditionBesideKeys(join)
    RangeExtractor
      .extract(
        join.joinType,
        withoutKeys.getOrElse(join.condition),
        join.left.outputSet,
        join.right.outputSet,
        Some(LeftSide))
      .exists { range =>
        BestOrder.of(range, best).isDefined &&
        (withoutKeys.isDefined || !range.isOneSided || isSmall(join.right))
      }
  }

  /** Without a key or a second end, only a broadcast spares the comparison of all rows with all. */
  private def isSmall(side: LogicalPlan): Boolean =
    side.stats.sizeInBytes <= conf.autoBroadcastJoinThreshold
}
