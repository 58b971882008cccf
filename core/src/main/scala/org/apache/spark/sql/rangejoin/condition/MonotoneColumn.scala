// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.{cond, condOpt}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedValue, RangeBound, WidenedSum}
import org.apache.spark.sql.rangejoin.shims.TimestampPlusInterval
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.CalendarInterval

/**
 * Proves that a bound rises with a column, so that rows sorted by the column are sorted by the
 * bound, and a table that is sorted already need not be sorted again.
 *
 * The list of proofs is short on purpose. `10 - t`, `t % 7` and `t * s` do not rise with `t`; an
 * addition that wraps around does not; nor does a timestamp plus whole days in a time zone with
 * daylight saving; nor a timestamp plus months, as 30 January 10:00 and 31 January 9:00 have the same day a month
 * later. Dates plus months do. An addition that raises does: a bound that raises is unknown, and either stands
 * at the end of the order where the smallest long belongs, or belongs to a row without match.
 */
object MonotoneColumn {

  /** The column that the bound rises with, where that is proven. */
  def of(bound: RangeBound): Option[Attribute] =
    // Rows with a NULL come first; where it is another bound, that is no proof of their place.
    if (bound.trusted.isEmpty && (!bound.readsNull || bound.nulls.contains(NullBound.BeforeValues)))
      risesWith(bound.child)
    else None

  private def risesWith(e: Expression): Option[Attribute] = e match {
    case a: Attribute                                                    => Some(a)
    case OrderedValue(child)                                             => risesWith(child)
    case Cast(child, to, _, _) if Arithmetic.widens(child.dataType, to)  => risesWith(child)
    case a @ Add(child, step, _) if keepsOrder(a, step, a.evalMode)      => risesWith(child)
    case a @ Add(step, child, _) if keepsOrder(a, step, a.evalMode)      => risesWith(child)
    case s @ Subtract(child, step, _) if keepsOrder(s, step, s.evalMode) => risesWith(child)
    case WidenedSum(child, step, _, _) if isFinite(step)                 => risesWith(child)
    case ClampedSum(child)                                               => risesWith(child)
    case UnixMicros(child)                                               => risesWith(child)
    case MicrosToTimestamp(child)                                        => risesWith(child)
    // The last day of a month stands for those that the month does not have: equal, and in order. A date out of
    // range raises.
    case AddMonths(child, Literal(months, _)) if months != null         => risesWith(child)
    case DateAddYMInterval(child, Literal(months, _)) if months != null => risesWith(child)
    case TimestampPlusInterval(child, Literal(interval, _))
        if isFixedLength(interval, wholeDays = child.dataType == TimestampNTZType) =>
      risesWith(child)
    case _ => None
  }

  /** A long moved by a number, and the end of the type where that would overflow: as `join_asof` writes a tolerance. */
  private object ClampedSum {
    def unapply(e: Expression): Option[Expression] = condOpt(e) {
      case CaseWhen(
            Seq((LessThan(child, Literal(from: Long, _)), Literal(Long.MinValue, _))),
            Some(Subtract(moved, Literal(step: Long, _), _))
          ) if step >= 0 && from == Long.MinValue + step && moved.semanticEquals(child) =>
        child
      case CaseWhen(
            Seq((GreaterThan(child, Literal(from: Long, _)), Literal(Long.MaxValue, _))),
            Some(Add(moved, Literal(step: Long, _), _))
          ) if step >= 0 && from == Long.MaxValue - step && moved.semanticEquals(child) =>
        child
    }
  }

  /** Rounding does not turn an order around, nor does an infinite result. */
  private def keepsOrder(
      e: BinaryArithmetic,
      step: Expression,
      mode: EvalMode.Value
  ): Boolean = cond(e.dataType) {
    case _: IntegralType        => step.foldable && mode == EvalMode.ANSI
    case FloatType | DoubleType => isFinite(step)
  }

  private def isFinite(step: Expression): Boolean = cond(step) {
    case Literal(d: Double, _) => java.lang.Double.isFinite(d)
    case Literal(f: Float, _)  => java.lang.Float.isFinite(f)
  }

  /** Months are of different lengths; so are days, except in local time without a zone. */
  private def isFixedLength(interval: Any, wholeDays: Boolean): Boolean = cond(interval) {
    case micros: Long => wholeDays || (micros > -MICROS_PER_DAY && micros < MICROS_PER_DAY)
    case calendar: CalendarInterval =>
      calendar.months == 0 && (wholeDays || calendar.days == 0)
  }
}
