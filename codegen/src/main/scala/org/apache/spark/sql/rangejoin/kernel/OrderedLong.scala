// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import java.math.BigInteger

import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  UnaryExpression,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.shims.{BinaryStrings, NullIntolerantExpression, TimeOfDay}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{ByteArray, UTF8String}

/**
 * Order-preserving encoding of a value as a long, for every type that Spark can order. A window of
 * bounds is then an array of longs, and a scan touches rows only where the longs do not decide.
 *
 *   - For a '''lossless''' type `encode(x) <= encode(y)` exactly where Spark's own ordering says
 *     `x <= y`, and equal where it says equal.
 *   - For any other type the encoding is a prefix: `x <= y` implies `encode(x) <= encode(y)`, and
 *     values of equal prefix have to be compared themselves. A prefix is never an extreme of LONG.
 */
object OrderedLong {

  /** Whether the encoding loses nothing. */
  def isLossless(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType |
        DateType | TimestampType | TimestampNTZType | TimeOfDay() | _: AnsiIntervalType =>
      true
    case decimal: DecimalType => decimal.precision <= Decimal.MAX_LONG_DIGITS
    case _                    => false
  }

  /** Whether a cast from one type to another keeps the long of every value. */
  def isKept(from: DataType, to: DataType): Boolean = (from, to) match {
    case (a: IntegralType, b: IntegralType) => a.defaultSize <= b.defaultSize
    case (FloatType, DoubleType)            => true
    case (a: DecimalType, b: DecimalType)   =>
      isLossless(b) && a.scale == b.scale && a.precision <= b.precision
    case _ => false
  }

  /** Encodes a value that is not NULL, in Spark's internal representation. */
  def encode(value: Any, dataType: DataType): Long = dataType match {
    case BooleanType                                       => ofBoolean(value.asInstanceOf[Boolean])
    case ByteType                                          => value.asInstanceOf[Byte].toLong
    case ShortType                                         => value.asInstanceOf[Short].toLong
    case IntegerType | DateType | _: YearMonthIntervalType => value.asInstanceOf[Int].toLong
    case FloatType                                   => ofDouble(value.asInstanceOf[Float].toDouble)
    case DoubleType                                  => ofDouble(value.asInstanceOf[Double])
    case decimal: DecimalType if isLossless(decimal) =>
      ofSmallDecimal(value.asInstanceOf[Decimal], decimal.scale)
    case decimal: DecimalType       => prefixOf(value.asInstanceOf[Decimal], decimal.scale)
    case other if isLossless(other) => value.asInstanceOf[Long]
    case string: StringType if BinaryStrings.isBinary(string) =>
      prefixOf(value.asInstanceOf[UTF8String])
    case BinaryType => prefixOf(value.asInstanceOf[Array[Byte]])
    case _          => NoPrefix
  }

  /** Java source of an expression that encodes the given one. */
  def encodeCode(value: String, dataType: DataType): String = {
    val self = OrderedLong.getClass.getName.stripSuffix("$")
    dataType match {
      case BooleanType                                 => s"$self.ofBoolean($value)"
      case FloatType | DoubleType                      => s"$self.ofDouble((double) $value)"
      case decimal: DecimalType if isLossless(decimal) =>
        s"$self.ofSmallDecimal($value, ${decimal.scale})"
      case decimal: DecimalType       => s"$self.prefixOf($value, ${decimal.scale})"
      case other if isLossless(other) => s"(long) $value"
      case string: StringType if BinaryStrings.isBinary(string) => s"$self.prefixOf($value)"
      case BinaryType                                           => s"$self.prefixOf($value)"
      case _                                                    => s"${NoPrefix}L"
    }
  }

  /** The prefix of a type without a cheap one: all values have to be compared themselves. */
  private val NoPrefix = 0L

  def ofBoolean(value: Boolean): Long = if (value) 1L else 0L

  /** In Spark's order: -0.0 equals 0.0, and NaN equals NaN and is greater than any other. */
  def ofDouble(value: Double): Long = {
    // Adding zero turns -0.0 into 0.0; doubleToLongBits has one NaN only.
    val bits = java.lang.Double.doubleToLongBits(value + 0.0)
    bits ^ ((bits >> 63) & Long.MaxValue)
  }

  /** The number that `encoded` is the long of. */
  def toDouble(encoded: Long): Double =
    java.lang.Double.longBitsToDouble(encoded ^ ((encoded >> 63) & Long.MaxValue))

  /** The value in units of its last digit; of 18 digits at most. */
  def ofSmallDecimal(value: Decimal, scale: Int): Long =
    if (value.scale == scale) value.toUnscaledLong
    else value.toJavaBigDecimal.setScale(scale).unscaledValue.longValueExact

  /** The number of bits and the first 55 bits of the value in units of its last digit. */
  def prefixOf(value: Decimal, scale: Int): Long = {
    val unscaled = value.toJavaBigDecimal.setScale(scale).unscaledValue
    if (unscaled.signum < 0) -magnitude(unscaled.negate) else magnitude(unscaled)
  }

  private def magnitude(number: BigInteger): Long = {
    val bits = number.bitLength
    val leading = if (bits <= 55) number.longValue << (55 - bits)
    else number.shiftRight(bits - 55).longValue
    // At most 127 bits: 38 digits are less than 2^127.
    (bits.toLong << 55) | leading
  }

  /** A long of the first bytes, in unsigned order; the two bits lost keep it off the extremes. */
  def prefixOf(value: UTF8String): Long = value.getPrefix >>> 2

  def prefixOf(value: Array[Byte]): Long = ByteArray.getPrefix(value) >>> 2
}

/** The [[OrderedLong]] of a value, as an expression; NULL where the value is NULL. */
case class OrderedValue(child: Expression) extends UnaryExpression
    with NullIntolerantExpression {
  override def dataType: DataType = LongType

  override protected def nullSafeEval(input: Any): Any = OrderedLong.encode(input, child.dataType)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, value => OrderedLong.encodeCode(value, child.dataType))

  override def toString: String = child.toString

  override def sql: String = child.sql

  override protected def withNewChildInternal(newChild: Expression): OrderedValue =
    copy(child = newChild)
}

/** A column of a row whose values are longs in Spark's order ([[OrderedLong]]), read where it is. */
final class LongColumn private (val ordinal: Int, read: Int) {
  import LongColumn._

  /** The long of a row in which the column is not NULL. */
  def of(row: UnsafeRow): Long = (read: @annotation.switch) match {
    case OfLong    => row.getLong(ordinal)
    case OfInt     => row.getInt(ordinal).toLong
    case OfDouble  => OrderedLong.ofDouble(row.getDouble(ordinal))
    case OfFloat   => OrderedLong.ofDouble(row.getFloat(ordinal).toDouble)
    case OfShort   => row.getShort(ordinal).toLong
    case OfByte    => row.getByte(ordinal).toLong
    case OfBoolean => OrderedLong.ofBoolean(row.getBoolean(ordinal))
  }
}

object LongColumn {
  private final val OfLong = 0
  private final val OfInt = 1
  private final val OfDouble = 2
  private final val OfFloat = 3
  private final val OfShort = 4
  private final val OfByte = 5
  private final val OfBoolean = 6

  /** The column of an expression; None if it is no column, or its encoding as a long is a prefix. */
  def unapply(e: Expression): Option[LongColumn] = e match {
    case BoundReference(ordinal, dataType, _) if OrderedLong.isLossless(dataType) =>
      Some(new LongColumn(ordinal, readOf(dataType)))
    case _ => None
  }

  private def readOf(dataType: DataType): Int = dataType match {
    case IntegerType | DateType | _: YearMonthIntervalType => OfInt
    case DoubleType                                        => OfDouble
    case FloatType                                         => OfFloat
    case ShortType                                         => OfShort
    case ByteType                                          => OfByte
    case BooleanType                                       => OfBoolean
    // A row has a small decimal as its unscaled long; timestamps and times are longs.
    case _ => OfLong
  }
}
