// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.cond
import scala.util.{Left, Right}

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants.MICROS_PER_DAY
import org.apache.spark.sql.rangejoin.condition.Arithmetic.{bitsOf, stripWidening}
import org.apache.spark.sql.rangejoin.kernel.OrderedValue
import org.apache.spark.sql.rangejoin.shims.RaisingArithmetic
import org.apache.spark.sql.types._

/**
 * The difference `x - y` of an expression of one side and one of the other, or their sum `x + y`.
 *
 * `lo <= x - y <= hi` is the range `x - hi <= y <= x - lo`, except where arithmetic overflows or
 * rounds:
 *
 *   - Where stock Spark raises on overflow (ANSI), or gives NULL (`try_subtract`), a pair that overflows is no match.
 *     The range holds as it is; for a single limit the predicate is evaluated again.
 *   - Where `x - y` wraps around, it is a difference modulo 2^bits^. Both limits together are
 *     still one range of `y`, as long as neither of its ends wraps; for rows where one does the
 *     range is not trusted. One limit alone is no range.
 *   - `abs` of the smallest value is that value itself when it wraps, and so is below every limit. The values of such a
 *     pair are `2^(bits-1)^` apart, so one of them is either well below zero or near the greatest value; rows with such
 *     a value are not trusted either.
 *   - Where `x - y` is rounded (FLOAT, DOUBLE), the ends are moved outward by the rounding, and the predicate is
 *     evaluated again. A limit that is not finite, and a NaN where NaN is greater than the limit, are not trusted.
 *
 * A row that is not trusted is compared by the original condition ([[RangeBound]]).
 *
 * A sum is the difference `x - (-y)`, and all of this holds for it: `lo <= x + y <= hi` is the range
 * `lo - x <= y <= hi - x`; `x` is always of the left side. But the operands of a sum that is the smallest value of a
 * type may both be far from its ends, so `abs` of a sum that may wrap is no range.
 *
 * @param x minuend, as a number of the `arithmetic`
 * @param y subtrahend, likewise
 * @param bits the width at which the difference wraps around, or None where it raises
 * @param absolute whether `abs(x - y)` is meant
 * @param widened whether the predicate compares the difference in a wider type
 * @param isSum whether `x + y` is meant
 */
private[condition] case class Difference(
    x: Expression,
    y: Expression,
    xSide: Side,
    arithmetic: Arithmetic,
    bits: Option[Int],
    absolute: Boolean = false,
    widened: Boolean = false,
    isSum: Boolean = false
) {

  def on(side: Side): Expression = if (side == xSide) x else y

  /** Whether days between dates are meant: these overflow only for dates that nobody uses. */
  def isOfDates: Boolean =
    Seq(x, y).forall(cond(_) { case OrderedValue(child) => child.dataType == DateType })

  /** Whether this is the same number for every pair, even if it is compared in another type. */
  def sameAs(other: Difference): Boolean =
    absolute == other.absolute && isSum == other.isSum && bits == other.bits &&
      Predicates.haveSameValue(x, other.x) && Predicates.haveSameValue(y, other.y)
}

private[condition] object Difference {

  /** Reads `x - y`, `x + y` or the `abs` of one across the sides. */
  def of(e: Expression, sideOf: Expression => Option[Side]): Option[Difference] = {
    val read = new Reader(e.dataType, sideOf)
    stripWidening(e) match {
      case abs @ Abs(child, failOnError) =>
        val inner = stripWidening(child)
        read(inner).flatMap { d =>
          val width = if (failOnError) d.bits else d.bits.orElse(bitsOf(child.dataType))
          if (d.isSum && width.isDefined) None
          else Some(d.copy(bits = width, absolute = true, widened = e.ne(abs) || inner.ne(child)))
        }
      case inner => read(inner).map(_.copy(widened = inner.ne(e)))
    }
  }

  /** Whether this is a difference or sum across the sides that `of` does not read. */
  def isUnread(e: Expression, sideOf: Expression => Option[Side]): Boolean = e match {
    // An absolute value may be what makes it unreadable.
    case Abs(child, _) =>
      isUnread(child, sideOf) || (isAcross(child, sideOf) && of(e, sideOf).isEmpty)
    case Cast(child, _, _, _) => isUnread(child, sideOf)
    case other                => isAcross(other, sideOf) && of(other, sideOf).isEmpty
  }

  private def isAcross(e: Expression, sideOf: Expression => Option[Side]): Boolean =
    cond(stripWidening(e)) {
      case s @ (_: Subtract | _: Add) =>
        s.children.flatMap(child => sideOf(child).toSeq).distinct.size == 2
    }

  /**
   * Reads a subtraction or an addition across the sides.
   *
   * @param compared the type in which the difference is compared
   */
  private class Reader(compared: DataType, sideOf: Expression => Option[Side]) {

    def apply(e: Expression): Option[Difference] = e match {
      case s: Subtract =>
        val bits = if (s.evalMode == EvalMode.LEGACY) bitsOf(s.dataType) else None
        Arithmetic.of(s, compared).flatMap(across(s.left, s.right, _, bits))
      case a: Add =>
        val bits = if (a.evalMode == EvalMode.LEGACY) bitsOf(a.dataType) else None
        // The same sum, whichever is written first.
        val (x, y) =
          if (sideOf(a.left).contains(LeftSide)) (a.left, a.right) else (a.right, a.left)
        Arithmetic.of(a, compared).flatMap(across(x, y, _, bits)).map(_.copy(isSum = true))
      case DateDiff(end, start)             => across(end, start, WholeNumbers, bitsOf(IntegerType))
      case SubtractDates(end, start, false) =>
        across(end, start, WholeNumbers, None)
          .map(d => d.copy(x = microsOfDays(d.x), y = microsOfDays(d.y)))
      case s @ SubtractTimestamps(end, start, false, _) =>
        across(localTime(end, s), localTime(start, s), WholeNumbers, None)
      case _ => None
    }

    private def across(x: Expression, y: Expression, arithmetic: Arithmetic, bits: Option[Int]) =
      for (a <- sideOf(x); b <- sideOf(y) if a != b)
        yield Difference(arithmetic.number(x), arithmetic.number(y), a, arithmetic, bits)
  }

  def microsOfDays(days: Expression): Expression =
    Multiply(days, Literal(MICROS_PER_DAY), RaisingArithmetic.Raising)

  /** Spark takes the difference of two instants between their local times in the session zone. */
  private def localTime(timestamp: Expression, difference: SubtractTimestamps): Expression =
    timestamp.dataType match {
      case TimestampType => Cast(timestamp, TimestampNTZType, difference.timeZoneId)
      case _             => timestamp
    }

  /** Range tests for all limits, and reasons for limits that cannot become a test. */
  def tests(limits: Seq[Limit]): (Seq[Reason], Seq[RangeTest]) = {
    val read: Seq[Either[Reason, RangeTest]] = limits.map { limit =>
      val d = limit.difference
      val opposites = limits.filter(other =>
        other.upper != limit.upper && other.side == limit.side && other.difference.sameAs(d))
      // The two limits of one abs() belong together.
      val opposite =
        opposites.find(_.comparison.predicate.eq(limit.comparison.predicate))
          .orElse(opposites.headOption)
      // Where one of the two is compared in a wider type, the pairs in between may overflow in the
      // narrower one, and only the predicate knows.
      val exact = opposite
        .filterNot(o =>
          limit.isWide || o.isWide || d.widened || o.difference.widened || !d.arithmetic.isExact)
        .fold[Exactness](Inexact)(o => ExactWith(o.comparison.predicate))
      (d.arithmetic, d.bits, opposite) match {
        case (_: Rounded, _, _) => Right(limit.test(trustedOfRounded(limit, opposite), Inexact))
        case (_, None, _)       => Right(limit.test(Map.empty, exact))
        case (_, Some(bits), Some(found)) => Right(limit.test(trusted(limit, found, bits), exact))
        case (_, Some(bits), None) if d.isOfDates =>
          Right(limit.test(withoutOverflow(d, bits), Inexact))
        case (_, Some(_), None) => Left(Reason.InexactDifference(limit.comparison.predicate))
      }
    }
    (read.collect { case Left(reason) => reason }, read.collect { case Right(test) => test })
  }

  /**
   * Limits that are finite, also when moved on to the next number: infinity and the infinity of a row give NaN. A
   * difference that is NaN is within every lower limit, and within no upper one. So without an upper limit a row with
   * NaN in `y` is not trusted, since no range of `x` goes with it; of a sum a row with NaN on the side of the limit.
   */
  private def trustedOfRounded(limit: Limit, opposite: Option[Limit]): Map[Side, Expression] = {
    val d = limit.difference
    val greatest =
      if (d.arithmetic == Rounded(single = true)) Float.MaxValue.toDouble else Double.MaxValue
    // The end of a difference, given its minuend, is then as wide as can be, or nothing matches at all.
    val ofLiteral = if (d.isSum) greatest else Double.PositiveInfinity
    val finite = (limit +: opposite.toSeq).map(_.amount).distinct
      .filterNot(isLiteralWithin(_, ofLiteral)).map(isWithin(_, greatest))
    val ofLimit = finite.map(limit.side -> _)
    val ofSubtrahend =
      if (limit.upper || opposite.isDefined) Nil
      else if (d.isSum) Seq(limit.side -> Not(IsNaN(d.on(limit.side))))
      else Seq(d.xSide.other -> Not(IsNaN(d.y)))
    (ofLimit ++ ofSubtrahend)
      .groupBy { case (side, _) => side }
      .map { case (side, tests) => side -> tests.map(_._2).reduce[Expression](And(_, _)) }
  }

  private def isWithin(e: Expression, greatest: Double): Expression =
    nullOr(e, And(GreaterThan(e, Literal(-greatest)), LessThan(e, Literal(greatest))))

  private def isLiteralWithin(e: Expression, greatest: Double): Boolean =
    cond(e) { case Literal(d: Double, _) => d > -greatest && d < greatest }

  /** Rows whose differences never wrap around: all dates of the calendar. */
  private def withoutOverflow(d: Difference, bits: Int): Map[Side, Expression] =
    Side.Both.map(s => s -> withinWidth(d.on(s), bits - 1)).toMap

  private def trusted(limit: Limit, opposite: Limit, bits: Int): Map[Side, Expression] = {
    val d = limit.difference
    val ends = And(withinWidth(limit.end, bits), withinWidth(opposite.end, bits))
    if (!d.absolute) Map(limit.side -> ends)
    else {
      Map(
        limit.side -> And(ends, notAntipodal(d.on(limit.side), bits)),
        limit.side.other -> notAntipodal(d.on(limit.side.other), bits))
    }
  }

  private def withinWidth(e: Expression, bits: Int): Expression = {
    val greatest = Long.MaxValue >> (64 - bits)
    val isAbove = GreaterThanOrEqual(e, Literal(-greatest - 1))
    nullOr(e, And(isAbove, LessThanOrEqual(e, Literal(greatest))))
  }

  /** Of two values `2^(bits-1)^` apart, at least one does not pass. */
  private def notAntipodal(e: Expression, bits: Int): Expression = {
    val margin = 1L << (bits - 5)
    val greatest = Long.MaxValue >> (64 - bits)
    val isBelow = LessThanOrEqual(e, Literal(greatest - margin + 1))
    nullOr(e, And(GreaterThan(e, Literal(-margin)), isBelow))
  }

  private def nullOr(e: Expression, holds: Expression): Expression = Or(IsNull(e), holds)
}

/**
 * `difference <= value` where `upper`, else `difference >= value`; `-value` where `negated`.
 *
 * @param side the side the value belongs to; for a constant the side of `x`
 * @param isWide whether the comparison says more than that ([[RoundedDifference]])
 */
private[condition] case class Limit(
    difference: Difference,
    value: Expression,
    side: Side,
    upper: Boolean,
    negated: Boolean,
    comparison: Comparison,
    isWide: Boolean = false
) {

  private def d = difference

  /** Whether `end` is below the point that is compared with it. */
  private val endIsLesser = if (d.isSum) !upper else upper == (side == d.xSide)

  /** The limit as a number. */
  val amount: Expression = d.arithmetic.number(value)

  /** The end of the range that the limit stands for: of `y` given `x`, or of `x` given `y`. */
  val end: Expression = {
    // y >= x - amount for an upper limit; x <= y + amount likewise, with the sides exchanged.
    val signed = if (negated) d.arithmetic.negative(amount) else amount
    if (d.isSum) d.arithmetic.rest(signed, d.on(side), up = !endIsLesser)
    else if (side == d.xSide) d.arithmetic.minus(d.x, signed, up = !endIsLesser)
    else d.arithmetic.plus(d.y, signed, up = !endIsLesser)
  }

  def test(trusted: Map[Side, Expression], exact: Exactness): RangeTest = {
    val point = d.on(side.other)
    val (lesser, greater) = if (endIsLesser) (end, point) else (point, end)
    val lesserSide = if (endIsLesser) side else side.other
    RangeTest(
      lesser,
      greater,
      lesserSide,
      // An end that was moved outward excludes nothing by being equal.
      comparison.strict && d.arithmetic.isExact,
      comparison.predicate,
      trusted,
      exact
    )
  }
}
