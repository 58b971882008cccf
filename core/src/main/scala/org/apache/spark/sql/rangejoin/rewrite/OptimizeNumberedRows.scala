// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{AGGREGATE, WINDOW}
import org.apache.spark.sql.rangejoin.condition.Predicates
import org.apache.spark.sql.rangejoin.plan.AggregatedPairs

/**
 * Does for [[RankedMatches]] and [[AggregatedMatches]] what Spark's optimizer does for the subqueries and as-of joins
 * that they replace, and cannot do for a join below a window or an aggregate:
 *
 *   - If each left row comes out once and no right column is read, the left side alone is read.
 *   - Filters on left columns go below the join.
 *   - If each left row comes out once, a limit goes below the join as well.
 *   - Left columns that nobody reads are none to group by.
 *
 * Runs together with Spark's own rules for filters, columns and limits, each of which makes way for
 * others.
 */
object OptimizeNumberedRows extends Rule[LogicalPlan] with AliasHelper {

  override def apply(plan: LogicalPlan): LogicalPlan =
    RewrittenAfterCacheLookup.removed(plan).transformDownWithPruning(
      _.containsAnyPattern(WINDOW, AGGREGATE)) {
      case Project(columns, RankedMatches.First(join))
          if columns.forall(_.references.subsetOf(join.left.outputSet)) =>
        Project(columns, join.left)
      case AggregatedMatches.OfRows(aggregate, join) =>
        val columns = ofRows(aggregate)
        val isOfLeft = AggregatedPairs.functionsOf(columns).isEmpty &&
          columns.forall(_.references.subsetOf(join.left.outputSet))
        if (isOfLeft) Project(columns, join.left) else reduced(aggregate, join)
      case Filter(condition, RankedMatches.OfWindow(window, join)) =>
        filteredBelow(condition, window, join, Nil)
      case Filter(condition, AggregatedMatches.OfRows(aggregate, join)) =>
        filteredBelow(condition, aggregate, join, ofRows(aggregate))
      case limit @ LocalLimit(IntegerLiteral(most), child) =>
        firstBelow(child).map(_.left).filter(_.maxRowsPerPartition.forall(_ > most)) match {
          case Some(left) =>
            limit.copy(child = NumberedRows.withLeft(child, LocalLimit(Literal(most), left)))
          case None => limit
        }
    }

  /** The columns of an aggregate, where those of left rows are no functions. */
  private def ofRows(aggregate: Aggregate): Seq[NamedExpression] =
    aggregate.aggregateExpressions.map(AggregatedMatches.ofRow(_).asInstanceOf[NamedExpression])

  /** Without columns to group by that nobody reads; what filters left rows does so below their number. */
  private def reduced(aggregate: Aggregate, join: Join): LogicalPlan = {
    val read = AttributeSet.fromAttributeSets(aggregate.aggregateExpressions.map(_.references))
    val keys = NumberedRows.keysOf(join)
    val grouping = aggregate.groupingExpressions.filter {
      case a: Attribute =>
        NumberedRows.isNumber(a) || read.contains(a) || keys.exists(_.semanticEquals(a))
      case _ => true
    }
    val left = join.left match {
      case Filter(condition, child) if isOfLeft(condition, join.left) => filtered(child, condition)
      case other                                                      => other
    }
    NumberedRows.withLeft(aggregate.copy(groupingExpressions = grouping), left)
  }

  /** @param columns what the operator computes of a left row */
  private def filteredBelow(
      condition: Expression,
      operator: LogicalPlan,
      join: Join,
      columns: Seq[NamedExpression]): LogicalPlan = {
    val aliases = getAliasMap(columns)
    val (ofLeft, others) = Predicates.split(condition)
      .partition(predicate => isOfLeft(replaceAlias(predicate, aliases), join.left))
    val below =
      ofLeft.map(replaceAlias(_, aliases)).reduceOption(And(_, _)).fold(operator)(condition =>
        NumberedRows.withLeft(operator, filtered(join.left, condition)))
    others.reduceOption(And(_, _)).fold(below)(Filter(_, below))
  }

  private def isOfLeft(predicate: Expression, left: LogicalPlan): Boolean =
    predicate.deterministic && predicate.references.nonEmpty &&
      predicate.references.subsetOf(left.outputSet -- NumberedRows.numbers(left)) &&
      !SubqueryExpression.hasCorrelatedSubquery(predicate) &&
      // A column of an enclosing query is not among the references.
      !SubExprUtils.containsOuter(predicate)

  /**
   * The left side with a filter below the number of each row, which may be any number. An earlier filter stays before a
   * later one: it may be there so that the later one raises no error.
   */
  private def filtered(left: LogicalPlan, condition: Expression): LogicalPlan = left match {
    case project: Project if NumberedRows.numbers(project).nonEmpty =>
      val below = replaceAlias(condition, getAliasMap(project))
      // What is computed anew would be another value.
      if (below.deterministic) project.copy(child = Filter(below, project.child))
      else Filter(condition, project)
    case Filter(earlier, child) if isOfLeft(earlier, child) =>
      filtered(child, And(earlier, condition))
    case Filter(earlier, child) => Filter(And(earlier, condition), child)
    case other                  => Filter(condition, other)
  }

  @tailrec
  private def firstBelow(plan: LogicalPlan): Option[Join] = plan match {
    case RankedMatches.First(join)         => Some(join)
    case AggregatedMatches.OfRows(_, join) => Some(join)
    case Project(_, child)                 => firstBelow(child)
    case _                                 => None
  }
}
