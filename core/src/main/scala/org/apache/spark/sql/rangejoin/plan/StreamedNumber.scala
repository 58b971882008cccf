// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.cond
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Generate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.{LeftOuter, RightOuter}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.{
  BaseLimitExec,
  FilterExec,
  InputAdapter,
  ProjectExec,
  SortExec,
  SparkPlan,
  UnaryExecNode,
  WholeStageCodegenExec
}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.join.{CodegenBoundaryExec, RangeJoinExec}
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * A number that each streamed row of a range join has for itself, by `monotonically_increasing_id()`: all pairs that
 * have it come from one scan, in one task, if the join keeps the rows that it streams.
 */
private[plan] object StreamedNumber {

  /** Whether a join keeps the rows of this side: these are never copied to several tasks. */
  def keeps(join: RangeJoinExec, streamed: Side): Boolean = streamed match {
    case LeftSide  => join.joinType == LeftOuter
    case RightSide => join.joinType == RightOuter
  }

  /** Such a number among columns to group by, if the join keeps the rows that have it. */
  def among(grouping: Seq[NamedExpression], join: RangeJoinExec): Option[Attribute] =
    grouping.collectFirst {
      case a: Attribute if isOf(a, join)           => a
      case Alias(a: Attribute, _) if isOf(a, join) => a
    }.filter(_ => join.aggregatedFor.exists(keeps(join, _)))

  /** Whether a column of the pairs is a number that each row of the streamed side has for itself. */
  @tailrec
  def isOf(column: Attribute, pairs: SparkPlan, join: RangeJoinExec): Boolean =
    pairs match {
      case ProjectExec(columns, child) =>
        definitionOf(column, columns) match {
          case Some(below: Attribute) => isOf(below, child, join)
          case _                      => false
        }
      case _ => isOf(column, join)
    }

  /** Whether a column of the streamed side is such a number. */
  def isOf(column: Attribute, join: RangeJoinExec): Boolean = isNumber(column, join.streamedPlan)

  private def isNumber(column: Attribute, plan: SparkPlan): Boolean = plan match {
    case ProjectExec(columns, child)  => isNumber(column, columns)(isNumber(_, child))
    case shuffle: ShuffleExchangeLike => isNumber(column, shuffle.child)
    case stage: QueryStageExec        => isNumber(column, stage.plan)
    // Below a stage that has begun there is generated code.
    case _: FilterExec | _: BaseLimitExec | _: SortExec | _: RangeSortExec | _: CodegenBoundaryExec |
        _: RangeBucketExec | _: WholeStageCodegenExec | _: InputAdapter =>
      isNumber(column, plan.children.head)
    // Where a stage has begun, other software may have put a node of its own in the place of Spark's.
    case other: UnaryExecNode => other.logicalLink.exists(isNumber(column, _))
    case _                    => false
  }

  private def isNumber(column: Attribute, plan: LogicalPlan): Boolean = cond(plan) {
    case Project(columns, child) => isNumber(column, columns)(isNumber(_, child))
    case Filter(_, child)        => isNumber(column, child)
    case Generate(_: NumberOfRow, _, _, _, Seq(number), child) =>
      number.exprId == column.exprId || isNumber(column, child)
  }

  /** @param isBelow whether a column below the projection is such a number */
  private def isNumber(column: Attribute, projected: Seq[NamedExpression])(
      isBelow: Attribute => Boolean): Boolean = cond(definitionOf(column, projected)) {
    case Some(MonotonicallyIncreasingID()) => true
    case Some(below: Attribute)            => isBelow(below)
  }

  private def definitionOf(column: Attribute, columns: Seq[NamedExpression]): Option[Expression] =
    columns.find(_.exprId == column.exprId).map {
      case Alias(definition, _) => definition
      case same                 => same
    }
}

/**
 * One row for each row, with its `monotonically_increasing_id()`.
 *
 * Deterministic to Spark: which number a row has does not matter, as long as no other one has it. Unlike an expression
 * of a projection it is evaluated once for each row, whatever code is generated above.
 */
case class NumberOfRow(child: Expression = CreateArray(Seq(MonotonicallyIncreasingID())))
    extends ExplodeBase {
  override val position: Boolean = false

  override lazy val deterministic: Boolean = true

  override protected def withNewChildInternal(newChild: Expression): NumberOfRow =
    copy(child = newChild)
}
