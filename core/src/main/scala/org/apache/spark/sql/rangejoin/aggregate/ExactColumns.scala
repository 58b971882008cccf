// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  Average,
  Count,
  DeclarativeAggregate,
  Sum
}
import org.apache.spark.sql.types.{DoubleType, IntegralType, LongType}

/**
 * Buffers whose columns are whole numbers that add up exactly, in any order, so that rows can be taken away again:
 * counts, sums of whole numbers, and averages of them, whose sums are DOUBLE. A row adds a number to each column, and
 * one more for a sum, which is NULL where it has no value: how many values it has.
 *
 * @param columns of a buffer, in their order
 */
private[rangejoin] final case class ExactColumns(columns: Seq[ExactColumns.Column]) {
  import ExactColumns._

  private[this] val kinds = columns.toArray

  /** For each number, what the numbers of all rows may add up to without regard of their signs. */
  val most: Array[Long] = kinds.flatMap {
    case PlainLong    => Seq(Long.MaxValue)
    case NullableLong => Seq(Long.MaxValue, Long.MaxValue)
    case WholeDouble  => Seq(MostOfDouble)
  }

  /** How many numbers a row adds. */
  def width: Int = most.length

  /**
   * Reads the numbers of a buffer; false where one is no whole number.
   *
   * @param numbers of `width`
   */
  def read(buffer: UnsafeRow, numbers: Array[Long]): Boolean = {
    var isWhole = true
    var next = 0
    var i = 0
    while (i < kinds.length) {
      kinds(i) match {
        case PlainLong    => numbers(next) = buffer.getLong(i)
        case NullableLong =>
          val isNull = buffer.isNullAt(i)
          numbers(next) = if (isNull) 0L else buffer.getLong(i)
          next += 1
          numbers(next) = if (isNull) 0L else 1L
        case WholeDouble =>
          val value = buffer.getDouble(i)
          numbers(next) = value.toLong
          isWhole &&= numbers(next).toDouble == value
      }
      next += 1
      i += 1
    }
    isWhole
  }

  /** Makes a buffer that of rows whose numbers add up to these. */
  def write(numbers: Array[Long], buffer: UnsafeRow): Unit = {
    var next = 0
    var i = 0
    while (i < kinds.length) {
      kinds(i) match {
        case PlainLong    => buffer.setLong(i, numbers(next))
        case NullableLong =>
          val sum = numbers(next)
          next += 1
          if (numbers(next) == 0L) buffer.setNullAt(i) else buffer.setLong(i, sum)
        case WholeDouble => buffer.setDouble(i, numbers(next).toDouble)
      }
      next += 1
      i += 1
    }
  }
}

private[rangejoin] object ExactColumns {

  sealed trait Column
  case object PlainLong extends Column
  case object NullableLong extends Column
  case object WholeDouble extends Column

  /** Up to here every whole number is a DOUBLE. */
  private val MostOfDouble = 1L << 53

  /** None if one of the functions is of another kind. */
  def of(functions: Seq[DeclarativeAggregate]): Option[ExactColumns] = {
    val columns = functions.map {
      case count: Count                => count.aggBufferAttributes.map(_ => PlainLong)
      case sum: Sum if isWholeSum(sum) => Seq(NullableLong)
      case average: Average
          if isWhole(average) && average.aggBufferAttributes.map(_.dataType) == Averaged =>
        Seq(WholeDouble, PlainLong)
      case _ => Nil
    }
    if (columns.forall(_.nonEmpty)) Some(ExactColumns(columns.flatten)) else None
  }

  private val Averaged = Seq(DoubleType, LongType)

  /** Not for `try_sum`, whose buffer has a second column. */
  private def isWholeSum(sum: Sum): Boolean =
    isWhole(sum) && sum.aggBufferAttributes.map(_.dataType) == Seq(LongType)

  private def isWhole(function: DeclarativeAggregate): Boolean =
    function.children.head.dataType.isInstanceOf[IntegralType]
}

/**
 * The numbers of rows ([[ExactColumns]]), one row's behind the other's, as far as they can be added up in
 * any order without overflow.
 */
private[rangejoin] final class RowNumbers(runs: RunAggregates) {

  /** How many numbers a row has. */
  val width: Int = runs.exact.width
  private[this] val most = runs.exact.most
  private[this] val absolute = new Array[Long](width)

  /** The numbers of the row that was read last. */
  val last: Array[Long] = new Array[Long](width)

  /** Begins with no rows. */
  def clear(): Unit = java.util.Arrays.fill(absolute, 0L)

  /** Reads the numbers of a row; false where it raises an error, or they are not to be added to those before. */
  def read(row: UnsafeRow): Boolean =
    runs.aggregateRow(row) && runs.exact.read(runs.result, last) && fits()

  private def fits(): Boolean = {
    var i = 0
    var fits = true
    while (i < width) {
      absolute(i) += math.abs(last(i))
      // Below zero after an overflow: what is added is no less than zero but for the least number, which has no other.
      fits &&= last(i) != Long.MinValue && absolute(i) >= 0L && absolute(i) <= most(i)
      i += 1
    }
    fits
  }
}
