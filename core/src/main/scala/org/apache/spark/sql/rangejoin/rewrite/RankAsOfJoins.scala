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

package org.apache.spark.sql.rangejoin.rewrite

import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
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
object RankAsOfJoins extends NumberingRule {

  override protected def isEnabled(plan: LogicalPlan): Boolean =
    Seq(
      RangeJoinConf.Enabled,
      RangeJoinConf.BestMatches,
      RangeJoinConf.AsOf).forall(conf.getConf(_))

  override protected def rewrite(plan: LogicalPlan): LogicalPlan =
    plan.transformDownWithSubqueries {
      case join: AsOfJoin => ranked(join).getOrElse(join)
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
