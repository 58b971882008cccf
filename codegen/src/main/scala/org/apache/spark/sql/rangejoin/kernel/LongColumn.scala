// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnsafeRow}
import org.apache.spark.sql.types._

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
