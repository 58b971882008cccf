// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import java.time.ZoneId

import scala.PartialFunction.{cond, condOpt}
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.DateTimeConstants._
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.rangejoin.condition.Arithmetic.{bitsOf, stripWidening}
import org.apache.spark.sql.rangejoin.shims.JavaCollections.Converters._
import org.apache.spark.sql.types._

/**
 * A number by which pairs are ranked. It rises or falls with a column of one side, or is the distance of the column
 * from a value of the other side.
 *
 * @param point what the column is compared with, of the other side and of the column's type
 * @param value the column, or a cast of it that keeps all values
 * @param falls whether the number falls as the column rises
 * @param absolute whether it is the distance from the point, on either side of it
 * @param greatest beyond it the difference of a point and a value wraps around, or raises; None where it
 *   never does
 * @param slack how far apart two values may be in the wrong order, or equal, by the number
 * @param rounding how the number is rounded, so that it may be the same for other values; None where it is not
 */
case class Distance(
    point: Expression,
    value: Expression,
    falls: Boolean,
    absolute: Boolean,
    greatest: Option[Long],
    slack: Long,
    rounding: Option[Rounding] = None) {

  /** The column that `value` is made of. */
  def column: Option[Attribute] = Distance.columnOf(value)

}

object Distance {

  /** The column below a cast that keeps all values; None for any other expression. */
  def columnOf(e: Expression): Option[Attribute] =
    condOpt(stripWidening(e)) { case a: Attribute => a }

  /** The point; NULL where it is no finite number, whose distances are all the same. */
  def finite(point: Expression): Expression = point.dataType match {
    case DoubleType => finite(point, Literal(Double.PositiveInfinity))
    case FloatType  => finite(point, Literal(Float.PositiveInfinity))
    case _          => point
  }

  private def finite(point: Expression, infinity: Literal): Expression =
    If(LessThan(Abs(point), infinity), point, Literal(null, point.dataType))

  /** Reads `x - y`, or its absolute value, where one operand is of the streamed side, one of the other. */
  def of(e: Expression, streamed: AttributeSet, other: AttributeSet): Option[Distance] =
    stripWidening(e) match {
      case Abs(child, _) =>
        val inner = stripWidening(child)
        read(inner, streamed, other).map { d =>
          // The smallest number has no absolute value.
          nearest(d).copy(greatest = d.greatest.orElse(greatestOf(inner.dataType)))
        }
      case If(greater, ifGreater, otherwise) =>
        // What an as-of join is ordered by.
        for {
          (x, y) <- ordered(greater)
          one <- operands(stripWidening(ifGreater)) if isSame(one, (x, y))
          two <- operands(stripWidening(otherwise)) if isSame(two, (y, x))
          d <- read(stripWidening(ifGreater), streamed, other)
          opposite <- read(stripWidening(otherwise), streamed, other)
        } yield nearest(d).copy(greatest = d.greatest.orElse(opposite.greatest))
      case inner => read(inner, streamed, other)
    }

  /** Two values on the same side of the point may be out of order by what either is off. */
  private def nearest(d: Distance) = d.copy(absolute = true, falls = false, slack = 2 * d.slack)

  private def ordered(e: Expression): Option[(Expression, Expression)] = condOpt(e) {
    case GreaterThan(x, y)        => x -> y
    case GreaterThanOrEqual(x, y) => x -> y
    case LessThan(y, x)           => x -> y
    case LessThanOrEqual(y, x)    => x -> y
  }

  private def operands(e: Expression): Option[(Expression, Expression)] = condOpt(e) {
    case s: Subtract            => s.left -> s.right
    case DateDiff(x, y)         => x -> y
    case SubtractDates(x, y, _) => x -> y
    case s: SubtractTimestamps  => s.left -> s.right
  }

  private def isSame(a: (Expression, Expression), b: (Expression, Expression)) =
    Predicates.haveSameValue(a._1, b._1) && Predicates.haveSameValue(a._2, b._2)

  private def read(
      e: Expression,
      streamed: AttributeSet,
      other: AttributeSet): Option[Distance] = {
    def across(
        x: Expression,
        y: Expression,
        greatest: Option[Long],
        slack: Long): Option[Distance] =
      (if (isOf(x, streamed) && isOf(y, other))
         Some(Distance(x, y, falls = true, absolute = false, greatest, slack))
       else if (isOf(y, streamed) && isOf(x, other))
         Some(Distance(y, x, falls = false, absolute = false, greatest, slack))
       else None).filter { d =>
        d.column.isDefined && d.point.deterministic && d.point.dataType == d.value.dataType &&
        (isExact(d.value.dataType) || isFloating(d.value.dataType))
      }
    e match {
      case s: Subtract if isFloating(s.dataType) =>
        across(s.left, s.right, None, 0L)
          .map(_.copy(rounding = Some(Rounding(single = s.dataType == FloatType))))
      case s: Subtract if s.evalMode != EvalMode.TRY && isNumber(s.dataType) =>
        // Differences that wrap around, or raise.
        val greatest = greatestOf(s.dataType)
        (inner(s.left), inner(s.right)) match {
          case (Some((x, unit)), Some((y, unitOfY))) if unit == unitOfY =>
            // In coarser units, values are too small for their difference to wrap around.
            across(x, y, if (unit > 1) None else greatest, if (unit > 1) unit else 0L)
          case _ =>
            // In a wider type, as `CAST(l.t AS BIGINT) - CAST(r.t AS BIGINT)`, values are compared as they were before
            // the cast.
            val (x, y) = (stripWider(s.left), stripWider(s.right))
            val (from, to) = if (x.dataType == y.dataType) (x, y) else (s.left, s.right)
            across(from, to, greatest.filterNot(_ => isOfNarrower(s)), 0L).filterNot(_ =>
              losesDigits(s))
        }
      case DateDiff(x, y) => across(x, y, greatestOf(IntegerType), 0L)
      // An interval has microseconds.
      case SubtractDates(x, y, false) => across(x, y, Some(Long.MaxValue / MICROS_PER_DAY), 0L)
      case s @ SubtractTimestamps(x, y, false, _) =>
        val slack =
          if (Seq(x, y).forall(_.dataType == TimestampNTZType)) Some(0L)
          else s.timeZoneId.map(id => slackOf(DateTimeUtils.getZoneId(id)))
        // Local times are at most a day from instants.
        slack.flatMap(across(x, y, Some(Long.MaxValue - 2 * MICROS_PER_DAY), _))
      case _ => None
    }
  }

  /** The instant that this counts in units, and the microseconds of a unit. */
  private def inner(e: Expression): Option[(Expression, Long)] = condOpt(stripWidening(e)) {
    case UnixMicros(t)           => t -> 1L
    case UnixMillis(t)           => t -> MICROS_PER_MILLIS
    case UnixSeconds(t)          => t -> MICROS_PER_SECOND
    case u: UnixTimestamp        => u.timeExp -> MICROS_PER_SECOND
    case u: ToUnixTimestamp      => u.timeExp -> MICROS_PER_SECOND
    case Cast(t, LongType, _, _) => t -> MICROS_PER_SECOND
  }.filter(_._1.dataType == TimestampType)

  /**
   * How far apart two instants may be whose local times are in the wrong order: by how much the offsets of a zone
   * differ.
   */
  private def slackOf(zone: ZoneId): Long = {
    val rules = zone.getRules
    if (rules.isFixedOffset) 0L
    else {
      val offsets =
        rules.getTransitions.asScala.flatMap(t => Seq(t.getOffsetBefore, t.getOffsetAfter)) ++
          rules.getTransitionRules.asScala.flatMap(r => Seq(r.getOffsetBefore, r.getOffsetAfter))
      val seconds = offsets.map(_.getTotalSeconds.toLong)
      (seconds.max - seconds.min) * MICROS_PER_SECOND
    }
  }

  private def isOf(e: Expression, side: AttributeSet): Boolean =
    e.references.nonEmpty && e.references.subsetOf(side)

  /** Whether values are whole numbers that fit into a long, or in the order of such numbers. */
  private def isExact(t: DataType): Boolean = cond(t) {
    case _: IntegralType | DateType | TimestampType | TimestampNTZType => true
    case d: DecimalType => d.precision <= Decimal.MAX_LONG_DIGITS
  }

  def isFloating(t: DataType): Boolean = t == FloatType || t == DoubleType

  private def isNumber(t: DataType): Boolean =
    cond(t) { case _: IntegralType | _: DecimalType => true }

  /**
   * The greatest difference of a type that neither wraps around nor raises; None for types whose differences do
   * neither.
   */
  private def greatestOf(t: DataType): Option[Long] =
    bitsOf(t).map(bits => Long.MaxValue >> (64 - bits))

  /** Whether a difference of decimals has fewer digits behind the point than its operands, and so is rounded. */
  private def losesDigits(s: Subtract): Boolean = cond(s.dataType) {
    case to: DecimalType =>
      s.children.exists(e => cond(e.dataType) { case from: DecimalType => from.scale > to.scale })
  }

  private def isOfNarrower(s: Subtract): Boolean = s.children.forall { e =>
    val from = stripWidening(e).dataType
    bitsOf(from).exists(bits => bitsOf(s.dataType).exists(bits < _))
  }

  /** The expression below casts to a wider type; a cast of a whole number to a decimal counts as one. */
  @tailrec
  private def stripWider(e: Expression): Expression = stripWidening(e) match {
    case Cast(child, to: DecimalType, _, _)
        if child.dataType.isInstanceOf[IntegralType] && to.isWiderThan(child.dataType) =>
      stripWider(child)
    case same => same
  }
}

/** How floating-point numbers are rounded: as DOUBLE, or as FLOAT if `single`. */
case class Rounding(single: Boolean) {

  /** How far two numbers are from each other. */
  def distance(a: Double, b: Double): Double =
    if (single) math.abs(a.toFloat - b.toFloat).toDouble else math.abs(a - b)

  /** How far numbers like this one are from the next ones. */
  def lastPlace(number: Double): Double =
    if (single) math.ulp(number.toFloat).toDouble else math.ulp(number)
}
