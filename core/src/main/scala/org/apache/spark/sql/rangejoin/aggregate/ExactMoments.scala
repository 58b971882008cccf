// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  AggregateFunction,
  DeclarativeAggregate
}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.types.{DataType, DoubleType}

/**
 * A function of moments, such as `stddev` or `corr`, whose buffers are merged as if their rows were aggregated together
 * where these are equal: merged into an empty buffer, a buffer stays as it is.
 *
 * Spark computes its mean anew, as `mean / n * n`. What is merged next then differs from that mean by its last bit, and
 * the variance of equal values is not zero, which makes a number of a `skewness` that is NULL. Spark itself merges the
 * one buffer of a task, where a range join has a buffer for each streamed row.
 */
private[rangejoin] case class ExactMoments(function: DeclarativeAggregate)
    extends DeclarativeAggregate with UnaryLike[Expression] {

  override def child: Expression = function

  override def nullable: Boolean = function.nullable

  override def dataType: DataType = function.dataType

  override def aggBufferAttributes: Seq[AttributeReference] = function.aggBufferAttributes

  override lazy val inputAggBufferAttributes: Seq[AttributeReference] =
    function.inputAggBufferAttributes

  override lazy val initialValues: Seq[Expression] = function.initialValues

  override lazy val updateExpressions: Seq[Expression] = function.updateExpressions

  override lazy val mergeExpressions: Seq[Expression] = ExactMoments.mergeOf(function)

  override lazy val evaluateExpression: Expression = function.evaluateExpression

  override def toAggString(isDistinct: Boolean): String = function.toAggString(isDistinct)

  override protected def withNewChildInternal(newChild: Expression): ExactMoments =
    copy(newChild.asInstanceOf[DeclarativeAggregate])
}

private[rangejoin] object ExactMoments {

  /** The same aggregate, whose function merges buffers so. */
  def merging(aggregate: AggregateExpression): AggregateExpression =
    aggregate.aggregateFunction match {
      case function: DeclarativeAggregate if areOf(function) =>
        aggregate.copy(aggregateFunction = ExactMoments(function))
      case _ => aggregate
    }

  /** Whether a function is one of moments. */
  def areOf(function: AggregateFunction): Boolean = numberOf(function).isDefined

  /** How a buffer of a function is merged with another one. */
  def mergeOf(function: DeclarativeAggregate): Seq[Expression] = numberOf(function) match {
    case Some(number) =>
      function.mergeExpressions.zip(function.inputAggBufferAttributes).map { case (merged, other) =>
        If(EqualTo(number, Literal(0.0)), other, merged)
      }
    case None => function.mergeExpressions
  }

  /** The column of a buffer of moments that has their number; None for other functions. */
  private def numberOf(function: AggregateFunction): Option[Attribute] =
    function.aggBufferAttributes.headOption.filter(first =>
      first.name == "n" && first.dataType == DoubleType)
}
