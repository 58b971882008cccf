/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.condition

import scala.util.{Left, Right}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.rangejoin.codegen.OrderedValue
import org.apache.spark.sql.types._

/**
 * The difference `x - y` of an expression of one side and one of the other, of an exact type.
 *
 * `lo <= x - y <= hi` is the range `x - hi <= y <= x - lo`, except where arithmetic overflows:
 *
 *   - Where stock Spark raises on overflow (ANSI), or gives NULL (`try_subtract`), a pair that
 *     overflows is no match. The range holds as it is; a limit without its opposite is asked again.
 *   - Where `x - y` wraps around, it is a difference modulo 2^bits^. Both limits together are
 *     still one range of `y`, as long as neither of its ends wraps; for rows where one does the
 *     range is not trusted. One limit alone is no range.
 *   - `abs` of the smallest value is that value itself when it wraps, and so is below every
 *     limit. The pairs concerned are `2^(bits-1)^` apart, so one of their values is either well
 *     below zero or near the greatest value; those rows are not trusted either.
 *
 * A row that is not trusted is compared by the original condition ([[RangeBound]]).
 *
 * @param x minuend, as exact number of the unit of the limits
 * @param y subtrahend, likewise
 * @param bits the width at which the difference wraps around, or None where it raises
 * @param absolute whether `abs(x - y)` is meant
 * @param widened whether the predicate compares the difference in a wider type
 */
private[condition] case class Difference(
    x: Expression,
    y: Expression,
    xSide: Side,
    bits: Option[Int],
    absolute: Boolean,
    widened: Boolean
) {

  def sameAs(other: Difference): Boolean =
    absolute == other.absolute && x.semanticEquals(other.x) && y.semanticEquals(other.y)
}

/**
 * `difference <= value` where `upper`, else `difference >= value`; `-value` where `negated`.
 *
 * @param side the side the value belongs to; that of `x` for a constant
 */
private[condition] case class Limit(
    difference: Difference,
    value: Expression,
    side: Side,
    upper: Boolean,
    negated: Boolean,
    comparison: Comparison
) {
  import Difference._

  private def d = difference

  /** The end of the range that the limit stands for: of `y` given `x`, or of `x` given `y`. */
  val end: Expression = {
    val exact = OrderedValue(value)
    val amount = if (negated) UnaryMinus(exact, failOnError = true) else exact
    if (side == d.xSide) minus(d.x, amount) else plus(d.y, amount)
  }

  /** The other side of the test. */
  private def point: Expression = if (side == d.xSide) d.y else d.x

  def test(trusted: Map[Side, Expression], exact: Exactness): RangeTest = {
    // y >= x - value for an upper limit; x <= y + value likewise, with the sides exchanged.
    val endIsLesser = upper == (side == d.xSide)
    val (lesser, greater) = if (endIsLesser) (end, point) else (point, end)
    val lesserSide = if (endIsLesser) side else side.other
    RangeTest(
      lesser,
      greater,
      lesserSide,
      comparison.strict,
      comparison.predicate,
      trusted,
      exact)
  }
}

private[condition] object Difference {

  /** Reads `x - y` or `abs(x - y)` across the sides. */
  def of(e: Expression, sideOf: Expression => Option[Side]): Option[Difference] =
    stripWidening(e) match {
      case abs @ Abs(child, failOnError) =>
        val inner = stripWidening(child)
        subtraction(inner, sideOf).map { d =>
          val width = if (failOnError) d.bits else d.bits.orElse(bitsOf(child.dataType))
          d.copy(bits = width, absolute = true, widened = e.ne(abs) || inner.ne(child))
        }
      case inner => subtraction(inner, sideOf).map(_.copy(widened = inner.ne(e)))
    }

  /** Whether this is a difference across the sides that is no range, being of an inexact type. */
  def isInexact(e: Expression, sideOf: Expression => Option[Side]): Boolean = e match {
    case Abs(child, _)                                         => isInexact(child, sideOf)
    case s: Subtract if !s.dataType.isInstanceOf[IntegralType] =>
      sideOf(s.left).zip(sideOf(s.right)).exists { case (a, b) => a != b }
    case _ => false
  }

  private def subtraction(
      e: Expression,
      sideOf: Expression => Option[Side]
  ): Option[Difference] = {
    def across(x: Expression, y: Expression, bits: Option[Int])(exact: Expression => Expression) =
      for (a <- sideOf(x); b <- sideOf(y) if a != b)
        yield Difference(exact(x), exact(y), a, bits, absolute = false, widened = false)
    e match {
      case s: Subtract if s.dataType.isInstanceOf[IntegralType] =>
        val bits = if (s.evalMode == EvalMode.LEGACY) bitsOf(s.dataType) else None
        across(s.left, s.right, bits)(OrderedValue)
      case DateDiff(end, start) =>
        across(end, start, bitsOf(IntegerType))(OrderedValue)
      case SubtractDates(end, start, false) =>
        across(end, start, None) { date =>
          Multiply(OrderedValue(date), Literal(MICROS_PER_DAY), ansi)
        }
      case s @ SubtractTimestamps(end, start, false, _) =>
        across(end, start, None)(localMicros(_, s))
      case _ => None
    }
  }

  /** Spark takes the difference of two instants between their local times in the session zone. */
  private def localMicros(timestamp: Expression, difference: SubtractTimestamps): Expression =
    timestamp.dataType match {
      case TimestampType => OrderedValue(Cast(timestamp, TimestampNTZType, difference.timeZoneId))
      case _             => OrderedValue(timestamp)
    }

  /** Range tests for all limits, and the reasons for those that are none. */
  def tests(limits: Seq[Limit]): (Seq[Reason], Seq[RangeTest]) =
    limits.partitionMap { limit =>
      val d = limit.difference
      val opposite = limits.find(other =>
        other.upper != limit.upper && other.side == limit.side && other.difference.sameAs(d))
      // A difference that was widened may overflow where the range, in wider numbers, does not.
      val exact = opposite.filterNot(_ => d.widened)
        .fold[Exactness](Inexact)(o => ExactWith(o.comparison.predicate))
      (d.bits, opposite) match {
        case (None, _)                 => Right(limit.test(Map.empty, exact))
        case (Some(bits), Some(found)) => Right(limit.test(trusted(limit, found, bits), exact))
        case (Some(_), None)           => Left(Reason.InexactDifference(limit.comparison.predicate))
      }
    }

  private def trusted(limit: Limit, opposite: Limit, bits: Int): Map[Side, Expression] = {
    val d = limit.difference
    val ends = And(withinWidth(limit.end, bits), withinWidth(opposite.end, bits))
    if (!d.absolute) Map(limit.side -> ends)
    else {
      def value(side: Side) = if (side == d.xSide) d.x else d.y
      Map(
        limit.side -> And(ends, notAntipodal(value(limit.side), bits)),
        limit.side.other -> notAntipodal(value(limit.side.other), bits)
      )
    }
  }

  private def withinWidth(e: Expression, bits: Int): Expression = {
    val greatest = Long.MaxValue >> (64 - bits)
    nullOr(
      e,
      And(
        GreaterThanOrEqual(e, Literal(-greatest - 1)),
        LessThanOrEqual(e, Literal(greatest))
      )
    )
  }

  /** Of two values `2^(bits-1)^` apart, at least one does not pass. */
  private def notAntipodal(e: Expression, bits: Int): Expression = {
    val margin = 1L << (bits - 5)
    val greatest = Long.MaxValue >> (64 - bits)
    nullOr(
      e,
      And(
        GreaterThan(e, Literal(-margin)),
        LessThanOrEqual(e, Literal(greatest - margin + 1))
      )
    )
  }

  private def nullOr(e: Expression, holds: Expression): Expression = Or(IsNull(e), holds)

  private val ansi = NumericEvalContext(EvalMode.ANSI)
  def minus(a: Expression, b: Expression): Expression = Subtract(a, b, ansi)
  def plus(a: Expression, b: Expression): Expression = Add(a, b, ansi)

  private def bitsOf(dataType: DataType): Option[Int] = dataType match {
    case ByteType | ShortType | IntegerType | LongType => Some(dataType.defaultSize * 8)
    case _                                             => None
  }

  private def stripWidening(e: Expression): Expression = e match {
    case Cast(child, to: IntegralType, _, _) =>
      child.dataType match {
        case from: IntegralType if from.defaultSize <= to.defaultSize => stripWidening(child)
        case _                                                        => e
      }
    case _ => e
  }
}
