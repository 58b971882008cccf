// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BasePredicate,
  Expression,
  GenericInternalRow,
  JoinedRow,
  UnsafeProjection
}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Side}

/**
 * How an output row is made.
 *
 * @param residual over the streamed row followed by the buffered row; None where any candidate is a
 *   match
 * @param result over the left row followed by the right row, or by the flag of an existence join
 * @param leftFields number of columns of the left row, NULL in an unmatched right row
 * @param rightFields number of columns of the right row
 */
final class JoinOutput(
    residual: Option[BasePredicate],
    result: UnsafeProjection,
    streamedSide: Side,
    leftFields: Int,
    rightFields: Int,
    val numOutputRows: SQLMetric
) {
  private[this] val streamLeft = streamedSide == LeftSide
  private[this] val check = residual.orNull
  private[this] val pair = new JoinedRow
  private[this] val joined = new JoinedRow
  private[this] val noLeft = new GenericInternalRow(leftFields)
  private[this] val noRight = new GenericInternalRow(rightFields)

  /** Whether any candidate is a match. */
  def matchesAll: Boolean = check == null

  def matches(streamed: InternalRow, buffered: InternalRow): Boolean =
    check == null || check.eval(pair(streamed, buffered))

  /** Whether a pair is a match, in a join that stops at the first match. */
  def matches(streamed: InternalRow, buffered: InternalRow, errors: ErrorUnlessMatched): Boolean =
    check == null || errors.holds(check, pair(streamed, buffered))

  /** The row of a pair; null stands for the row that is missing. */
  def apply(streamed: InternalRow, buffered: InternalRow): InternalRow = {
    val left = if (streamLeft) streamed else buffered
    val right = if (streamLeft) buffered else streamed
    result(joined(if (left == null) noLeft else left, if (right == null) noRight else right))
  }
}

object JoinOutput {

  /**
   * Makes the output of each task.
   *
   * @param residual bound to the streamed row followed by the buffered row
   * @param result bound to the left row followed by the right row, or by the flag of an existence join
   */
  def factory(
      residual: Option[Expression],
      result: Seq[Expression],
      streamedSide: Side,
      leftFields: Int,
      rightFields: Int,
      numOutputRows: SQLMetric
  ): () => JoinOutput = () =>
    new JoinOutput(
      residual.map(PairPredicate.create),
      UnsafeProjection.create(result),
      streamedSide,
      leftFields,
      rightFields,
      numOutputRows
    )
}
