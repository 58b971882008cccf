// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  Count,
  DeclarativeAggregate
}
import org.apache.spark.sql.types.DataType

/**
 * The expressions that aggregate rows, taken from Spark's own functions: `update` adds a row to a buffer, `merge` adds
 * another buffer. One sequence per function, bound to the buffers of all functions followed by the row or the other
 * buffers.
 *
 * @param inputs number of columns of the rows
 * @param countsOnly whether all functions are counts
 * @param exact the columns of a buffer, if rows can be subtracted from it
 * @param sums the columns of sums that become NULL on overflow, each with the column that tells whether any row was
 *   added
 */
final case class MatchAggregation(
    initial: Seq[Expression],
    update: Seq[Seq[Expression]],
    merge: Seq[Seq[Expression]],
    inputs: Int,
    countsOnly: Boolean,
    exact: Option[ExactColumns] = None,
    sums: Seq[SumColumns] = Nil) {

  /** The types of the columns of a buffer. */
  def types: Seq[DataType] = initial.map(_.dataType)

  def isEmpty: Boolean = initial.isEmpty

  /** Whether a sum of a buffer has overflowed, and has raised no error. */
  def hasOverflowed(buffer: InternalRow): Boolean = sums.exists(_.haveOverflowed(buffer))

  /** Whether a buffer can be changed in place. */
  def isFixed: Boolean = types.forall(UnsafeRow.isMutable)
}

object MatchAggregation {

  /** @param input columns of the rows that are aggregated */
  def of(functions: Seq[AggregateExpression], input: Seq[Attribute]): MatchAggregation = {
    val declared = functions.map(f => f -> f.aggregateFunction.asInstanceOf[DeclarativeAggregate])
    val buffer = declared.flatMap(_._2.aggBufferAttributes)
    val other = declared.flatMap(_._2.inputAggBufferAttributes)
    MatchAggregation(
      declared.flatMap(_._2.initialValues),
      declared.map { case (function, declarative) =>
        filtered(function, declarative).map(bindReference(_, buffer ++ input))
      },
      declared.map(_._2.mergeExpressions.map(bindReference(_, buffer ++ other))),
      input.size,
      declared.forall(_._2.isInstanceOf[Count]),
      ExactColumns.of(declared.map(_._2)),
      SumColumns.of(declared.map(_._2))
    )
  }

  private def filtered(
      function: AggregateExpression,
      declarative: DeclarativeAggregate): Seq[Expression] =
    function.filter.fold(declarative.updateExpressions) { filter =>
      declarative.updateExpressions.zip(declarative.aggBufferAttributes).map {
        case (value, before) => If(filter, value, before)
      }
    }
}
