// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.condition.{Distance, RangeCondition}
import org.apache.spark.sql.rangejoin.index.CoveredRanges

/**
 * What holds for every streamed row that is in the range of any row of an index, as predicates of its
 * columns and literals: a scan can hold them against the statistics of files.
 */
object MatchableValues {

  /**
   * Predicates in the order of preference: one that says the whole range, then weaker ones of one column each, for
   * scans that lack a column of the first.
   */
  def of(range: RangeCondition, covered: CoveredRanges): Seq[Expression] = {
    val lower = range.lowerBound.flatMap(RisingBound.of)
    val upper = range.upperBound.flatMap(RisingBound.of)
    val intervals = covered.intervals
    if (intervals.isEmpty) Nil
    else {
      val all = Seq(intervals.head._1 -> intervals.last._2)
      val ways = (lower, upper) match {
        case (Some(a), Some(b)) if a.column.semanticEquals(b.column) =>
          Seq(either(intervals, lower, upper))
        case (Some(_), Some(_)) =>
          Seq(either(intervals, lower, upper), either(all, lower, None), either(all, None, upper))
        case _ => Seq(either(all, lower, upper))
      }
      ways.flatten.distinct
    }
  }

  /** The row is in one of the intervals; None where any row may be. */
  private def either(
      intervals: Seq[(Long, Long)],
      lower: Option[RisingBound],
      upper: Option[RisingBound]
  ): Option[Expression] = {
    val parts = for {
      (low, high) <- intervals
      limits = lower.map(_.atMost(high)).toSeq ++ upper.map(_.atLeast(low))
      if !limits.contains(NoValue)
    } yield sound(limits.collect { case SomeValues(predicate) => predicate })
    if (parts.isEmpty || parts.exists(_.isEmpty)) None
    else Some(parts.map(_.reduce[Expression](And(_, _))).reduce[Expression](Or(_, _)))
  }

  /**
   * Statistics of a file leave NaN out, which is greater than all: a least value may rule it out only
   * where a greatest one does.
   */
  private[pushdown] def sound(limits: Seq[BinaryComparison]): Seq[BinaryComparison] =
    limits.filter {
      case GreaterThanOrEqual(column, literal) if Distance.isFloating(literal.dataType) =>
        limits.exists {
          case LessThanOrEqual(other, _) => other.semanticEquals(column)
          case _                         => false
        }
      case _ => true
    }
}
