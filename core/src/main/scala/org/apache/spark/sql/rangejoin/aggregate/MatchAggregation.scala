// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateExpression,
  Average,
  Count,
  DeclarativeAggregate,
  Sum
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
      declared.map { case (_, declarative) =>
        ExactMoments.mergeOf(declarative).map(bindReference(_, buffer ++ other))
      },
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

/** The buffer of one aggregation, in a task. */
abstract class MatchAggregator {

  /** Begins with no rows. */
  def clear(): Unit

  def update(row: InternalRow): Unit

  /** Takes the rows of another buffer, behind those that there are. */
  def merge(other: InternalRow): Unit

  /** What has been aggregated, valid until something else is. */
  def result(): UnsafeRow
}

/** Generated, or interpreted where Spark is told to, or has to, or a buffer has strings and the like. */
object MatchAggregator
    extends CodeGeneratorWithInterpretedFallback[MatchAggregation, MatchAggregator] {

  def create(aggregation: MatchAggregation): MatchAggregator =
    if (aggregation.isFixed) createObject(aggregation) else createInterpretedObject(aggregation)

  override protected def createCodeGeneratedObject(aggregation: MatchAggregation): MatchAggregator =
    GenerateMatchAggregator.generate(aggregation)

  override protected def createInterpretedObject(aggregation: MatchAggregation): MatchAggregator =
    new InterpretedMatchAggregator(aggregation)
}

/** Evaluates the expressions of an aggregation row by row. */
private[aggregate] final class InterpretedMatchAggregator(aggregation: MatchAggregation)
    extends MatchAggregator {
  import aggregation.types

  private[this] val buffer = new SpecificInternalRow(types)
  private[this] val beginning = MutableProjection.create(aggregation.initial).target(buffer)
  private[this] val updating = MutableProjection.create(aggregation.update.flatten).target(buffer)
  private[this] val merging = MutableProjection.create(aggregation.merge.flatten).target(buffer)
  private[this] val toUnsafe = UnsafeProjection.create(types.toArray)
  private[this] val joined = new JoinedRow

  override def clear(): Unit = beginning(InternalRow.empty)

  override def update(row: InternalRow): Unit = updating(joined(buffer, row))

  override def merge(other: InternalRow): Unit = merging(joined(buffer, other))

  override def result(): UnsafeRow = toUnsafe(buffer)
}

/**
 * Two columns of a buffer: a sum of decimals, or of `try_sum`, which is NULL once it has overflowed; and
 * whether there is nothing that was added, or how many rows were.
 */
final case class SumColumns(sum: Int, added: Int, countsRows: Boolean) {

  def haveOverflowed(buffer: InternalRow): Boolean = buffer.isNullAt(sum) &&
    (if (countsRows) buffer.getLong(added) > 0L else !buffer.getBoolean(added))
}

object SumColumns {

  /** The sums of functions whose columns follow one another. */
  def of(functions: Seq[DeclarativeAggregate]): Seq[SumColumns] = {
    val firsts = functions.scanLeft(0)(_ + _.aggBufferAttributes.size)
    functions.zip(firsts).collect {
      case (sum: Sum, first) if sum.aggBufferAttributes.size == 2 =>
        SumColumns(first, first + 1, countsRows = false)
      case (average: Average, first) if average.aggBufferAttributes.size == 2 =>
        SumColumns(first, first + 1, countsRows = true)
    }
  }
}

/** Buffers of counts alone. */
private[rangejoin] object CountBuffers {

  /** Whether all counts are one. */
  def areOne(counts: UnsafeRow): Boolean = {
    var i = 0
    while (i < counts.numFields && counts.getLong(i) == 1L) i += 1
    i == counts.numFields
  }

  /** Makes each count this number. */
  def fill(counts: UnsafeRow, number: Long): Unit = {
    var i = 0
    while (i < counts.numFields) {
      counts.setLong(i, number)
      i += 1
    }
  }

  /** Makes counts of one row those of as many equal ones. */
  def multiply(counts: UnsafeRow, times: Long): Unit = {
    var i = 0
    while (i < counts.numFields) {
      counts.setLong(i, counts.getLong(i) * times)
      i += 1
    }
  }
}
