// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, JoinedRow, Literal}
import org.apache.spark.sql.rangejoin.kernel.RangeBound

/**
 * What a range condition says of a pair of rows, as the scanner goes by it: a pair whose bounds are
 * known is decided by them, a pair with a bound at its extreme is handed to the condition.
 */
final class PairDecision(range: RangeCondition, left: Seq[Attribute], right: Seq[Attribute]) {
  import PairDecision._

  private val streamLeft = range.streamed == LeftSide
  private val (streamedColumns, bufferedColumns) = if (streamLeft) (left, right) else (right, left)
  private val lower = range.lowerBound.map(bindReference(_, streamedColumns))
  private val upper = range.upperBound.map(bindReference(_, streamedColumns))
  private val sort = range.sortBound.map(bindReference(_, bufferedColumns))
  private val evict = range.evictBound.map(bindReference(_, bufferedColumns))
  private val upperByValue = range.upperByValue.map(bindReference(_, left ++ right))
  private val lowerByValue = range.lowerByValue.map(bindReference(_, left ++ right))
  private val residual =
    bindReference(range.residual.getOrElse(Literal.TrueLiteral), left ++ right)

  /** The two bounds of a row of a side; None where one is NULL. */
  def boundsOf(side: Side, row: InternalRow): Option[Bounds] =
    if (side == range.streamed) bounds(lower, upper, row) else bounds(sort, evict, row)

  private def bounds(
      a: Option[RangeBound],
      b: Option[RangeBound],
      row: InternalRow): Option[Bounds] =
    // A test that is absent has zero for both bounds.
    for (x <- a.fold(Option[Any](0L))(e => Option(e.eval(row)));
      y <- b.fold(Option[Any](0L))(e => Option(e.eval(row))))
      yield Bounds(x.asInstanceOf[Long], y.asInstanceOf[Long])

  /** Whether the scanner pairs two rows, be it that the condition has to confirm it. */
  def isCandidate(ofLeft: Bounds, ofRight: Bounds, pair: => InternalRow): Boolean = {
    val (s, b) = if (streamLeft) (ofLeft, ofRight) else (ofRight, ofLeft)
    def passes(lesser: Long, greater: Long, tie: Option[Expression]) =
      lesser < greater || (lesser == greater && tie.forall(holds(_, pair)))
    passes(b.first, s.second, upperByValue) && passes(s.first, b.second, lowerByValue)
  }

  /** Whether a candidate whose bounds are known is in the result. */
  def residualHolds(left: InternalRow, right: InternalRow): Boolean =
    holds(residual, new JoinedRow(left, right))

  /** Whether two rows are in the result; `condition` is the one the range was read from. */
  def isMatch(left: InternalRow, right: InternalRow, condition: Expression): Boolean =
    (boundsOf(LeftSide, left), boundsOf(RightSide, right)) match {
      case (Some(ofLeft), Some(ofRight)) =>
        isCandidate(ofLeft, ofRight, new JoinedRow(left, right)) && {
          if (ofLeft.isExtreme || ofRight.isExtreme) holds(condition, new JoinedRow(left, right))
          else residualHolds(left, right)
        }
      case _ => false
    }
}

object PairDecision {

  /** Lower and upper bound of a streamed row, or sort and evict bound of a buffered row. */
  final case class Bounds(first: Long, second: Long) {
    val isExtreme: Boolean = first == Long.MinValue || second == Long.MaxValue
  }

  /** Whether a predicate is true of a row; one that raises is not. */
  def holds(predicate: Expression, row: InternalRow): Boolean =
    try java.lang.Boolean.TRUE == predicate.eval(row)
    catch { case NonFatal(_) => false }
}
