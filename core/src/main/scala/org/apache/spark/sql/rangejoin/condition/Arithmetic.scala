// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import scala.PartialFunction.{cond, condOpt}
import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.{OrderedValue, WidenedSum}
import org.apache.spark.sql.rangejoin.shims.RaisingArithmetic
import org.apache.spark.sql.types._

/** The numbers in which the ends of a range of differences are computed ([[Difference]]). */
private[condition] sealed trait Arithmetic {

  /** A value of the difference, or a limit of it, as a number. */
  def number(e: Expression): Expression

  def negative(e: Expression): Expression

  /** The sum; if it is not exact, a number above (`up`) or below the true one. */
  def plus(a: Expression, b: Expression, up: Boolean): Expression

  /** The difference, likewise. */
  def minus(a: Expression, b: Expression, up: Boolean): Expression

  /** `limit - known`, likewise: the limit of one operand of a sum whose other operand is known. */
  def rest(limit: Expression, known: Expression, up: Boolean): Expression

  /** Whether sums are exact. */
  def isExact: Boolean
}

/** Exact numbers: longs that raise on overflow. */
private[condition] sealed trait Exact64 extends Arithmetic {
  override def isExact: Boolean = true

  override def negative(e: Expression): Expression = UnaryMinus(e, failOnError = true)

  override def plus(a: Expression, b: Expression, up: Boolean): Expression =
    Add(a, b, RaisingArithmetic.Raising)

  override def minus(a: Expression, b: Expression, up: Boolean): Expression =
    Subtract(a, b, RaisingArithmetic.Raising)

  override def rest(limit: Expression, known: Expression, up: Boolean): Expression =
    minus(limit, known, up)
}

/** Whole numbers: integral types, and what Spark stores as one (days, months, microseconds). */
private[condition] case object WholeNumbers extends Exact64 {
  override def number(e: Expression): Expression = OrderedValue(e)
}

/** Decimals of up to 18 digits, in units of the digit at `scale`. */
private[condition] case class SmallDecimals(scale: Int) extends Exact64 {
  private val dataType = DecimalType(Decimal.MAX_LONG_DIGITS, scale)

  // Numbers with too many digits raise, and so are unknown.
  override def number(e: Expression): Expression =
    OrderedValue(if (e.dataType == dataType) e else Cast(e, dataType, None, EvalMode.ANSI))
}

/**
 * Floating-point numbers, as DOUBLEs.
 *
 * @param single whether the difference itself is computed as FLOAT
 */
private[condition] case class Rounded(single: Boolean) extends Arithmetic {
  override def isExact: Boolean = false

  override def number(e: Expression): Expression = e match {
    case Literal(f: Float, FloatType)      => Literal(f.toDouble)
    case other if e.dataType == DoubleType => other
    case other                             => Cast(other, DoubleType)
  }

  override def negative(e: Expression): Expression = e match {
    case Literal(d: Double, DoubleType) => Literal(-d)
    case _                              => UnaryMinus(e, failOnError = false)
  }

  override def plus(a: Expression, b: Expression, up: Boolean): Expression =
    WidenedSum(a, b, up, single)

  override def minus(a: Expression, b: Expression, up: Boolean): Expression =
    WidenedSum(a, negative(b), up, single)

  // It is the limit that is moved.
  override def rest(limit: Expression, known: Expression, up: Boolean): Expression =
    WidenedSum(negative(known), limit, up, single)
}

private[condition] object Arithmetic {

  /** The arithmetic of a difference or sum that is compared in some type; None where there is none. */
  def of(combined: BinaryArithmetic, compared: DataType): Option[Arithmetic] =
    condOpt((combined.dataType, compared)) {
      case (_: IntegralType | _: AnsiIntervalType, _) => WholeNumbers
      case (FloatType, _)                             => Rounded(single = true)
      case (DoubleType, _)                            => Rounded(single = false)
      case (_: DecimalType, to: DecimalType) if combined.children.forall(fits(_, to.scale)) =>
        SmallDecimals(to.scale)
    }

  private def fits(e: Expression, scale: Int): Boolean = cond(e.dataType) {
    case DecimalType.Fixed(precision, ofDigits) =>
      ofDigits <= scale && precision - ofDigits + scale <= Decimal.MAX_LONG_DIGITS
  }

  /** Whether a cast keeps the value as it is. */
  def widens(from: DataType, to: DataType): Boolean = cond((from, to)) {
    case (a: IntegralType, b: IntegralType) => a.defaultSize <= b.defaultSize
    case (FloatType, DoubleType)            => true
    // Days as days to seconds, say: microseconds either way.
    case (a: DayTimeIntervalType, b: DayTimeIntervalType) => a.endField <= b.endField
    case (a: DecimalType, b: DecimalType)                 => b.isWiderThan(a)
  }

  /** What is below casts that keep the value as it is. */
  @tailrec
  def stripWidening(e: Expression): Expression = e match {
    case Cast(child, to, _, _) if widens(child.dataType, to) => stripWidening(child)
    case _                                                   => e
  }

  /** The width of a type whose arithmetic wraps around; None for any other. */
  def bitsOf(dataType: DataType): Option[Int] = condOpt(dataType) {
    case ByteType | ShortType | IntegerType | LongType => dataType.defaultSize * 8
  }
}
