// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.{OrderedLong, OrderedValue}
import org.apache.spark.sql.rangejoin.shims.BinaryStrings
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * The columns that rows are sorted by, as their sorters need them.
 *
 * @param order the order, ascending, bound to the row
 * @param numFields columns of a row
 */
private[rangejoin] final class SortColumns(val order: Seq[SortOrder], val numFields: Int) {
  private[sort] val expressions: Seq[Expression] = order.map(_.child)

  /** What is known of each column's longs. */
  val columns: Array[PrefixLayout.Column] = expressions.map { e =>
    val (least, greatest) = SortColumns.ends(e.dataType)
    val exact = OrderedLong.isLossless(e.dataType)
    PrefixLayout.Column(
      least,
      greatest,
      if (exact) PrefixLayout.OfAll else PrefixLayout.OfNone)
  }.toArray

  /** Projects the columns of a row to longs; not to be shared by sorters. */
  lazy val longs: UnsafeProjection = UnsafeProjection.create(expressions.map(OrderedValue(_)))

  /**
   * The first `number` columns of a row as longs, by the codes made for them; a code is null where
   * there is none.
   */
  private[sort] def longsOf(codes: Array[KeyCodes], number: Int): UnsafeProjection =
    UnsafeProjection.create(expressions.zip(codes).take(number).map {
      case (column, null)                 => OrderedValue(column)
      case (column, strings: StringCodes) => KeyCode(column, strings)
      case (column, ofLongs)              => KeyCode(OrderedValue(column), ofLongs)
    })

  /** The order of rows. */
  lazy val ordering: BaseOrdering = orderingBehind(0)

  /** The order of rows that are equal in the first column. */
  lazy val orderingBehindFirst: BaseOrdering = orderingBehind(1)

  private def orderingBehind(equalColumns: Int): BaseOrdering =
    RowOrdering.create(order.drop(equalColumns), Nil).asInstanceOf[BaseOrdering]

  /** All columns but the last. */
  private[sort] def leading: SortColumns = new SortColumns(order.init, numFields)

  /** Whether longs do not show the last column as it is. */
  private[sort] def isLastLossy: Boolean = columns.last.equality.takesWholePrefix

  /** Whether rows may be sorted by all columns but the last, and then each group of equal ones by itself. */
  private[sort] def mayGroup: Boolean =
    order.size > 1 && (columns.head.equality.takesWholePrefix || isLastLossy)

  /** Whether a column has strings in the order of their bytes, as dictionaries have. */
  def isOfStrings(column: Int): Boolean =
    cond(expressions(column).dataType) { case s: StringType => BinaryStrings.isBinary(s) }

  /** The string in a column of strings. */
  private[sort] def stringOf(column: Int, row: InternalRow): UTF8String =
    expressions(column).eval(row).asInstanceOf[UTF8String]
}

private[rangejoin] object SortColumns {

  /** The least and the greatest long of a type whose values are all of its longs in between. */
  private def ends(dataType: DataType): (Long, Long) = dataType match {
    case BooleanType => (0L, 1L)
    case ByteType    => (Byte.MinValue.toLong, Byte.MaxValue.toLong)
    case ShortType   => (Short.MinValue.toLong, Short.MaxValue.toLong)
    case IntegerType | DateType | _: YearMonthIntervalType =>
      (Int.MinValue.toLong, Int.MaxValue.toLong)
    case _ => (Long.MinValue, Long.MaxValue)
  }
}
