// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.{ExpandExec, ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Predicates, RightSide, Side}

/**
 * What a partial aggregate makes of pairs, in the columns of what is below it.
 *
 * @param grouping with the attributes that the aggregate gives
 * @param expansion what makes several rows of each, for ROLLUP and the like; None where nothing does
 */
private[rangejoin] case class AggregatedPairs(
    grouping: Seq[NamedExpression],
    functions: Seq[AggregateExpression],
    pairs: SparkPlan,
    expansion: Option[ExpandedRows] = None) {

  /**
   * The sides each row of which may have its matches aggregated: the pairs are grouped by its
   * columns alone, and each function reads one side. Left: why there is none.
   */
  def sides(left: AttributeSet, right: AttributeSet): Either[String, Seq[Side]] =
    AggregatedPairs.sides(grouping, functions, left, right)
}

private[rangejoin] object AggregatedPairs extends AliasHelper {

  /** As [[AggregatedPairs.sides]], of an aggregate over pairs that may be logical. */
  def sides(
      grouping: Seq[Expression],
      functions: Seq[AggregateExpression],
      left: AttributeSet,
      right: AttributeSet): Either[String, Seq[Side]] = {
    def isOf(e: Expression, side: AttributeSet) = e.references.subsetOf(side)
    val grouped = Seq[(Side, AttributeSet)](LeftSide -> left, RightSide -> right)
      .filter { case (_, columns) =>
        grouping.forall(key => key.deterministic && isOf(key, columns))
      }
    val mixed = functions.find(f => !isOf(f, left) && !isOf(f, right))
      .map(f => s"${sqlOf(f)} reads columns of both sides: aggregate columns of one side")
    functions.flatMap(refusalOf).headOption
      .orElse(if (grouped.isEmpty) Some("group by columns of one side alone") else mixed)
      .toLeft(grouped.map(_._1))
  }

  /** The functions in the columns of a logical aggregate. */
  def functionsOf(columns: Seq[NamedExpression]): Seq[AggregateExpression] =
    columns.flatMap(_.collect { case function: AggregateExpression => function })

  /** What an aggregate of rows wants of the rows below it; None for any other operator. */
  def of(plan: SparkPlan): Option[AggregatedPairs] = plan match {
    case aggregate: BaseAggregateExec
        if aggregate.aggregateExpressions.nonEmpty &&
          aggregate.aggregateExpressions.forall(f => isOfRows(f.mode)) && !aggregate.isStreaming =>
      Some(below(AggregatedPairs(
        aggregate.groupingExpressions,
        aggregate.aggregateExpressions,
        aggregate.child)))
    case _ => None
  }

  /** From 4.3 on an aggregate that needs no shuffle has one step. */
  private def isOfRows(mode: AggregateMode): Boolean = mode == Partial || mode == Complete

  /** Why a function cannot be aggregated row by row and merged. */
  private def refusalOf(function: AggregateExpression): Option[String] =
    if (function.isDistinct) Some(s"${sqlOf(function)} aggregates distinct values")
    else if (!function.deterministic || function.filter.exists(!_.deterministic))
      Some(s"${sqlOf(function)} is not deterministic")
    else {
      function.aggregateFunction match {
        case _: First | _: Last      => Some(s"${sqlOf(function)} depends on the order of rows")
        case _: DeclarativeAggregate => None
        case _ => Some(s"${sqlOf(function)} is not computed by expressions, as sum and max are")
      }
    }

  private def sqlOf(function: AggregateExpression): String =
    Predicates.display(function.copy(mode = Complete))

  private def below(wanted: AggregatedPairs): AggregatedPairs = wanted.pairs match {
    case ProjectExec(projected, child) =>
      val aliases = getAliasMap(projected)
      below(wanted.copy(
        wanted.grouping.map(replaceAliasButKeepName(_, aliases)),
        wanted.functions.map(replaced(_)(replaceAlias(_, aliases))),
        child))
    case SortExec(_, false, child, _)                   => below(wanted.copy(pairs = child))
    case expand: ExpandExec if wanted.expansion.isEmpty =>
      belowExpand(wanted, expand).fold(wanted)(below)
    case _ => wanted
  }

  /**
   * If the rows that Expand makes differ only in grouping columns, the pairs are aggregated below
   * the Expand.
   */
  private def belowExpand(wanted: AggregatedPairs, expand: ExpandExec): Option[AggregatedPairs] = {
    val same = AttributeMap(expand.output.zip(expand.projections.transpose).collect {
      case (column, values) if values.forall(Predicates.haveSameValue(_, values.head)) =>
        column -> values.head
    })
    val keys = wanted.grouping.collect { case a: Attribute => a }
    val ordinals = keys.map(key => expand.output.indexWhere(_.exprId == key.exprId))
    val isServed = keys.size == wanted.grouping.size && ordinals.forall(_ >= 0) &&
      wanted.functions.forall(_.references.forall(same.contains))
    if (!isServed) None
    else {
      val sets =
        ExpandedRows(expand.projections.map(projection => ordinals.map(projection)), keys)
      Some(wanted.copy(
        sets.columns,
        wanted.functions.map(replaced(_)(_.transformUp { case a: Attribute =>
          same.getOrElse(a, a)
        })),
        expand.child,
        expansion = Some(sets)
      ))
    }
  }

  private def replaced(function: AggregateExpression)(
      by: Expression => Expression): AggregateExpression =
    by(function).asInstanceOf[AggregateExpression]
}
