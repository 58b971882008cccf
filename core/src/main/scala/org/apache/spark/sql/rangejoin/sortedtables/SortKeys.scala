// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.expressions.codegen.GenerateOrdering
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  BaseOrdering,
  BoundReference,
  NullsFirst,
  SortOrder,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.kernel.LongColumn

/**
 * Makes the keys of the files of one task.
 *
 * @param order bound to a row
 */
private[sortedtables] final class SortKeys(order: Seq[SortOrder]) {
  private[this] val columns = order.collect {
    case SortOrder(LongColumn(column), Ascending, NullsFirst, _) => column
  }.toArray

  private[this] val areLongs = columns.length == order.length

  private[this] lazy val project = UnsafeProjection.create(order.map(_.child))

  private[this] lazy val projected: BaseOrdering =
    GenerateOrdering.generate(order.zipWithIndex.map { case (by, i) =>
      by.copy(
        child = BoundReference(i, by.child.dataType, by.child.nullable),
        sameOrderExpressions = Nil)
    })

  /** Compares rows where the longs of their keys do not decide. */
  lazy val ordering: BaseOrdering = GenerateOrdering.generate(order)

  def newKey(): SortKey = if (areLongs) new LongsKey(columns) else new RowKey(project, projected)

  /** Whether two keys are equal where both of their longs are, and none of these is `NullLong`. */
  val areWhole: Boolean = areLongs && columns.length <= 2
}

private[sortedtables] object SortKeys {

  /** Stands for NULL, and is a value, too. */
  final val NullLong = Long.MinValue
}

/** The sort columns of the current row of a file, which outlive the row. */
private[sortedtables] abstract class SortKey {

  /** Reads the columns of the next row; false if they are less than the previous ones. */
  def moveTo(row: UnsafeRow): Boolean

  /** The first column, as a long, for a merge to compare; see [[SortKeys.areWhole]]. */
  def first: Long

  /** The second column, likewise. */
  def second: Long
}

/** Columns that are longs in Spark's order ([[LongColumn]]), read where they are in the row. */
private[sortedtables] final class LongsKey(columns: Array[LongColumn]) extends SortKey {
  private val values = new Array[Long](columns.length)
  // At first all are, so that no row comes before.
  private val isNull = Array.fill(columns.length)(true)

  override def moveTo(row: UnsafeRow): Boolean = {
    // How the row compares with the one before, by the first column that is not the same.
    var order = 0
    var i = 0
    while (i < columns.length) {
      val column = columns(i)
      if (row.isNullAt(column.ordinal)) {
        if (order == 0 && !isNull(i)) order = -1
        isNull(i) = true
        values(i) = SortKeys.NullLong
      } else {
        val value = column.of(row)
        if (order == 0) order = if (isNull(i)) 1 else java.lang.Long.compare(value, values(i))
        isNull(i) = false
        values(i) = value
      }
      i += 1
    }
    order >= 0
  }

  override def first: Long = values(0)

  override def second: Long =
    if (columns.length == 1) 0
    else if (values(0) == SortKeys.NullLong) SortKeys.NullLong
    else values(1)
}

/**
 * Columns of any type, projected out of the row.
 *
 * @param project its row is valid until the next call, by whichever key
 */
private[sortedtables] final class RowKey(project: UnsafeProjection, ordering: BaseOrdering)
    extends SortKey {
  private var columns: UnsafeRow = _

  override def moveTo(row: UnsafeRow): Boolean = {
    val next = project(row)
    if (columns == null) {
      columns = next.copy()
      true
    } else {
      val inOrder = ordering.compare(columns, next) <= 0
      columns.copyFrom(next)
      inOrder
    }
  }

  override def first: Long = SortKeys.NullLong

  override def second: Long = SortKeys.NullLong
}
