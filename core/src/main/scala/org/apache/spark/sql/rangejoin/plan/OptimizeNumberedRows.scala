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

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.WINDOW
import org.apache.spark.sql.rangejoin.condition.Predicates

/**
 * Does for [[RankedMatches]] what Spark's optimizer does for the subqueries and as-of joins that they
 * replace, and cannot do for a join below a window:
 *
 *   - If each left row comes out once and no right column is read, the left side alone is read.
 *   - Filters on left columns go below the join.
 *   - If each left row comes out once, a limit goes below the join as well.
 *
 * Runs together with Spark's own rules for filters, columns and limits, each of which makes way for
 * others.
 */
object OptimizeNumberedRows extends Rule[LogicalPlan] with AliasHelper {

  override def apply(plan: LogicalPlan): LogicalPlan =
    plan.transformDownWithPruning(_.containsPattern(WINDOW)) {
      case Project(columns, RankedMatches.First(join))
          if columns.forall(_.references.subsetOf(join.left.outputSet)) =>
        Project(columns, join.left)
      case filter @ Filter(condition, RankedMatches.OfWindow(window, join)) =>
        val (ofLeft, others) = Predicates.split(condition).partition(isOfLeft(_, join))
        if (ofLeft.isEmpty) filter
        else {
          val below =
            NumberedRows.withLeft(window, filtered(join.left, ofLeft.reduce(And(_, _))))
          others.reduceOption(And(_, _)).fold(below)(Filter(_, below))
        }
      case limit @ LocalLimit(IntegerLiteral(most), child) =>
        firstBelow(child).map(_.left).filter(_.maxRowsPerPartition.forall(_ > most)) match {
          case Some(left) =>
            limit.copy(child = NumberedRows.withLeft(child, LocalLimit(Literal(most), left)))
          case None => limit
        }
    }

  private def isOfLeft(predicate: Expression, join: Join): Boolean =
    predicate.deterministic && predicate.references.nonEmpty &&
      predicate.references.subsetOf(join.left.outputSet -- NumberedRows.numbers(join.left)) &&
      !SubqueryExpression.hasSubquery(predicate)

  /** The left side with a filter below the number of each row, which may be any number. */
  private def filtered(left: LogicalPlan, condition: Expression): LogicalPlan = left match {
    case project: Project if NumberedRows.numbers(project).nonEmpty =>
      val below = replaceAlias(condition, getAliasMap(project))
      // What is computed anew would be another value.
      if (below.deterministic) project.copy(child = Filter(below, project.child))
      else Filter(condition, project)
    case filter: Filter => filter.copy(child = filtered(filter.child, condition))
    case other          => Filter(condition, other)
  }

  @tailrec
  private def firstBelow(plan: LogicalPlan): Option[Join] = plan match {
    case RankedMatches.First(join) => Some(join)
    case Project(_, child)         => firstBelow(child)
    case _                         => None
  }
}
