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
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.rangejoin.condition.Predicates
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * Makes an as-of join of Spark's (`DataFrame._joinAsOf`, `merge_asof`, `ASOF JOIN`) a range join and a
 * ranking of the matches of each left row ([[RankedMatches]]).
 *
 * Spark's own way is a scalar subquery, which joins the distinct left values with all rows of the right side,
 * whatever their keys.
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
    val asOf = Some(node.asOfCondition).filterNot(_ == TrueLiteral)
    // The nearest of all: a NULL is near to nothing.
    val times = if (asOf.isEmpty) node.orderExpression.references.toSeq.filter(_.nullable) else Nil
    for {
      found <- RankedMatches.of(
        node.left,
        node.right,
        node.condition.toSeq ++ asOf ++ times.map(IsNotNull(_)),
        Seq(SortOrder(node.orderExpression, Ascending)),
        limit = 1)
      // A subquery that reads columns of the outer query is rewritten by Spark, which has to know the node.
      if !CorrelatedRows.isCorrelated(node) && node.output.forall(found.plan.outputSet.contains)
    } yield Project(
      node.output,
      if (node.joinType == Inner) found.matched else found.plan)
  }
}
