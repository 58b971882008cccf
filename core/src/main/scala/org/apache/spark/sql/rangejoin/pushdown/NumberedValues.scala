// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.types._

/**
 * The values of a type in their order, numbered.
 *
 * @param firstLiteral the first that a predicate may name. Days and times before 1900 may be of another calendar in a
 *   file, and later than the year 9999 some formats and classes cannot hold them
 */
private[pushdown] final class NumberedValues private (
    val first: Long,
    val last: Long,
    val firstLiteral: Long,
    val lastLiteral: Long)(
    val at: Long => Any)

private[pushdown] object NumberedValues {

  private val FirstDay = java.time.LocalDate.of(1900, 1, 3).toEpochDay
  private val LastDay = java.time.LocalDate.of(9999, 12, 30).toEpochDay
  private val MicrosPerDay = 86400000000L

  def of(dataType: DataType): Option[NumberedValues] = dataType match {
    case ByteType    => Some(all(Byte.MinValue, Byte.MaxValue)(_.toByte))
    case ShortType   => Some(all(Short.MinValue, Short.MaxValue)(_.toShort))
    case IntegerType => Some(all(Int.MinValue, Int.MaxValue)(_.toInt))
    case LongType    => Some(all(Long.MinValue, Long.MaxValue)(n => n))
    case FloatType   => Some(all(ofFloat(Float.NegativeInfinity), ofFloat(Float.NaN))(floatAt))
    case DoubleType  => Some(all(ofDouble(Double.NegativeInfinity), ofDouble(Double.NaN))(doubleAt))
    case DateType    =>
      Some(new NumberedValues(Int.MinValue, Int.MaxValue, FirstDay, LastDay)(_.toInt))
    case TimestampType | TimestampNTZType =>
      val (first, last) = (FirstDay * MicrosPerDay, LastDay * MicrosPerDay)
      Some(new NumberedValues(Long.MinValue, Long.MaxValue, first, last)(n => n))
    case decimal: DecimalType if decimal.precision <= Decimal.MAX_LONG_DIGITS =>
      val last = BigInt(10).pow(decimal.precision).toLong - 1
      Some(all(-last, last)(Decimal(_, decimal.precision, decimal.scale)))
    case _ => None
  }

  private def all(first: Long, last: Long)(at: Long => Any) =
    new NumberedValues(first, last, first, last)(at)

  private def ofDouble(value: Double): Long = turned(java.lang.Double.doubleToLongBits(value))

  private def doubleAt(number: Long): Double = java.lang.Double.longBitsToDouble(turned(number))

  private def turned(bits: Long): Long = bits ^ ((bits >> 63) & Long.MaxValue)

  private def ofFloat(value: Float): Long = turned(java.lang.Float.floatToIntBits(value))

  private def floatAt(number: Long): Float = java.lang.Float.intBitsToFloat(turned(number.toInt))

  private def turned(bits: Int): Int = bits ^ ((bits >> 31) & Int.MaxValue)
}
