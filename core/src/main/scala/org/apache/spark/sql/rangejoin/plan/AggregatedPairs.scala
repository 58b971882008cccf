// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.Aggregate
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.{ExpandExec, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.WindowedFunction
import org.apache.spark.sql.rangejoin.condition.{Predicates, Side}
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/**
 * What a partial aggregate makes of pairs, in the columns of what is below it.
 *
 * @param grouping with the attributes that the aggregate gives
 * @param buffers of the functions, as the aggregate that merges them reads them
 * @param expansion what makes several rows of each, for ROLLUP and the like; None where nothing does
 */
private[rangejoin] case class AggregatedPairs(
    grouping: Seq[NamedExpression],
    functions: Seq[AggregateExpression],
    buffers: Seq[Attribute] = Nil,
    expansion: Option[ExpandedRows] = None)
    extends AliasHelper {
  import AggregatedPairs.sqlOf

  /**
   * The sides each row of which may have its matches aggregated: the pairs are grouped by its
   * columns alone, and each function reads one side, or those of a window of its own. Left: why there is none.
   */
  def sides(left: AttributeSet, right: AttributeSet): Either[String, Seq[Side]] = {
    def isOf(e: Expression, side: AttributeSet) = e.references.subsetOf(side)
    val grouped = Side.Both.filter { side =>
      grouping.forall(key => key.deterministic && isOf(key, side.of(left, right)))
    }
    val ofBoth = functions.filter(f => !isOf(f, left) && !isOf(f, right))
    def isWindow(f: AggregateExpression, side: Side) =
      WindowedFunction.of(f, left, right, side).isDefined
    val served = grouped.filter(side => ofBoth.forall(isWindow(_, side)))
    functions.flatMap(refusalOf).headOption
      .orElse(
        if (grouped.isEmpty) Some("group by columns of one side alone")
        else ofBoth.headOption.filter(_ => served.isEmpty).map(AggregatedPairs.readsBoth))
      .toLeft(served)
  }

  /** Whether some of it is computed by Python: Spark does that in a node of its own, between join and aggregate. */
  def hasPython: Boolean = (grouping ++ functions).exists(_.exists(_.isInstanceOf[PythonUDF]))

  /** The side whose rows have their matches aggregated by a join; or why the join has to return all pairs. */
  def servedBy(join: RangeJoinExec): Either[String, Side] = for {
    sides <- sides(join.left.outputSet, join.right.outputSet)
    side <- join.aggregatedFor.toRight(
      "write an INNER join, or an outer one that keeps the rows that are grouped by")
    _ <- Either.cond(
      sides.contains(side),
      (),
      "have the join stream the side that is grouped by: let Spark broadcast, or build, the other side")
    _ <- functions.flatMap(refusalOfWindow(_, join, side)).headOption.toLeft(())
  } yield side

  /** Why a function of both sides is none of a window that the join finds. */
  private def refusalOfWindow(
      f: AggregateExpression,
      join: RangeJoinExec,
      side: Side): Option[String] = {
    val (left, right) = (join.left.outputSet, join.right.outputSet)
    val isOfOne = f.references.subsetOf(left) || f.references.subsetOf(right)
    if (isOfOne || WindowedFunction.of(f, join).isDefined) None
    else if (join.hasResidual && WindowedFunction.of(f, left, right, side).isDefined)
      Some(AggregatedPairs.besideCondition(f))
    else Some(AggregatedPairs.readsBoth(f))
  }

  /** The same in the columns below a projection. */
  def below(projected: Seq[NamedExpression]): AggregatedPairs = {
    val aliases = getAliasMap(projected)
    copy(
      grouping.map(replaceAliasButKeepName(_, aliases)),
      functions.map(replaceAlias(_, aliases).asInstanceOf[AggregateExpression]))
  }

  /**
   * The same below an Expand; None if the rows that it makes of a row differ in more than grouping columns.
   */
  def below(expand: ExpandExec): Option[AggregatedPairs] = {
    val same = AttributeMap(expand.output.zip(expand.projections.transpose).collect {
      case (column, values) if values.forall(Predicates.haveSameValue(_, values.head)) =>
        column -> values.head
    })
    val keys = grouping.collect { case a: Attribute => a }
    val ordinals = keys.map(key => expand.output.indexWhere(_.exprId == key.exprId))
    val isServed = expansion.isEmpty && keys.size == grouping.size && ordinals.forall(_ >= 0) &&
      functions.forall(_.references.forall(same.contains))
    if (!isServed) None
    else {
      val sets = ExpandedRows(expand.projections.map(projection => ordinals.map(projection)), keys)
      val below = functions.map(_.transformUp { case a: Attribute => same.getOrElse(a, a) }
        .asInstanceOf[AggregateExpression])
      Some(copy(sets.columns, below, expansion = Some(sets)))
    }
  }

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

}

private[rangejoin] object AggregatedPairs {

  private def sqlOf(function: AggregateExpression): String =
    Predicates.display(function.copy(mode = Complete))

  private def readsBoth(function: AggregateExpression): String =
    s"${sqlOf(function)} reads columns of both sides: aggregate columns of one side, or in a window of the column " +
      "that the range is of"

  private def besideCondition(function: AggregateExpression): String =
    s"${sqlOf(function)} is of a window, which needs a join by keys and one range alone"

  /** What a logical aggregate makes of rows; None if it has no functions. */
  def of(aggregate: Aggregate): Option[AggregatedPairs] = {
    val functions = functionsOf(aggregate.aggregateExpressions)
    val grouping = aggregate.groupingExpressions.map {
      case column: NamedExpression => column
      case other                   => Alias(other, "key")()
    }
    if (functions.isEmpty) None else Some(AggregatedPairs(grouping, functions))
  }

  /** The functions in the columns of a logical aggregate. */
  def functionsOf(columns: Seq[NamedExpression]): Seq[AggregateExpression] =
    columns.flatMap(_.collect { case function: AggregateExpression => function })

  /** What an aggregate of rows wants of the rows below it; None for any other operator. */
  def of(plan: SparkPlan): Option[AggregatedPairs] = condOpt(plan) {
    case aggregate: BaseAggregateExec
        if aggregate.aggregateExpressions.nonEmpty &&
          aggregate.aggregateExpressions.forall(f => isOfRows(f.mode)) && !aggregate.isStreaming =>
      AggregatedPairs(
        aggregate.groupingExpressions,
        aggregate.aggregateExpressions,
        aggregate.aggregateExpressions.flatMap(_.aggregateFunction.inputAggBufferAttributes))
  }

  /** From 4.3 on an aggregate that needs no shuffle has one step. */
  private def isOfRows(mode: AggregateMode): Boolean = mode == Partial || mode == Complete
}

/**
 * The rows that ROLLUP, CUBE and GROUPING SETS make of each row.
 *
 * @param projections the keys of each of them
 * @param keys as an aggregate has them
 */
private[plan] case class ExpandedRows(projections: Seq[Seq[Expression]], keys: Seq[Attribute]) {

  /** What the keys are made of. */
  def columns: Seq[NamedExpression] =
    AttributeSet(projections.flatten.flatMap(_.references)).toSeq

  /** Makes them of rows that have buffers. */
  def over(child: SparkPlan, buffers: Seq[Attribute]): SparkPlan =
    ExpandExec(projections.map(_ ++ buffers), keys ++ buffers, child)
}
