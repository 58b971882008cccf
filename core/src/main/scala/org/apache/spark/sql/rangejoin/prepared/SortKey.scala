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

package org.apache.spark.sql.rangejoin.prepared

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

/** The sort columns of the current row of a file, which outlive the row. */
private[prepared] abstract class SortKey {

  /** Takes up the columns of the next row; false where they are less than those it had. */
  def moveTo(row: UnsafeRow): Boolean

  /** Compares with the columns of another file, by a key of the same [[SortKeys]]. */
  def compareTo(other: SortKey): Int
}

/**
 * Makes the keys of the files of one task.
 *
 * @param order bound to a row
 */
private[prepared] final class SortKeys(order: Seq[SortOrder]) {
  private[this] val columns = order.collect {
    case SortOrder(LongColumn(column), Ascending, NullsFirst, _) => column
  }.toArray

  private[this] lazy val project = UnsafeProjection.create(order.map(_.child))

  private[this] lazy val ordering: BaseOrdering =
    GenerateOrdering.generate(order.zipWithIndex.map { case (by, i) =>
      by.copy(
        child = BoundReference(i, by.child.dataType, by.child.nullable),
        sameOrderExpressions = Nil)
    })

  def newKey(): SortKey =
    if (columns.length == order.length) new LongsKey(columns)
    else new RowKey(project, ordering)
}

/**
 * Columns of any type, projected out of the row.
 *
 * @param project its row is valid until the next call, by whichever key
 */
private final class RowKey(project: UnsafeProjection, ordering: BaseOrdering) extends SortKey {
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

  override def compareTo(other: SortKey): Int =
    ordering.compare(columns, other.asInstanceOf[RowKey].columns)
}

/** Columns that are longs in Spark's order ([[LongColumn]]), read where they are in the row. */
private final class LongsKey(columns: Array[LongColumn]) extends SortKey {
  private val values = new Array[Long](columns.length)
  // At first all are, so that no row comes before.
  private val isNull = Array.fill(columns.length)(true)

  // What most merges look at, not in arrays: the first two columns, where none is NULL.
  private var hasNull = true
  private var first, second = 0L

  override def moveTo(row: UnsafeRow): Boolean = {
    // How the row compares with the one before, by the first column that is not the same.
    var order = 0
    hasNull = false
    var i = 0
    while (i < columns.length) {
      val column = columns(i)
      if (row.isNullAt(column.ordinal)) {
        if (order == 0 && !isNull(i)) order = -1
        isNull(i) = true
        hasNull = true
      } else {
        val value = column.of(row)
        if (order == 0) order = if (isNull(i)) 1 else java.lang.Long.compare(value, values(i))
        isNull(i) = false
        values(i) = value
      }
      i += 1
    }
    first = values(0)
    if (columns.length > 1) second = values(1)
    order >= 0
  }

  override def compareTo(other: SortKey): Int = {
    val that = other.asInstanceOf[LongsKey]
    if (hasNull || that.hasNull) compareFrom(0, that)
    else if (first != that.first) if (first < that.first) -1 else 1
    else if (second != that.second) if (second < that.second) -1 else 1
    else if (columns.length <= 2) 0
    else compareFrom(2, that)
  }

  private def compareFrom(column: Int, that: LongsKey): Int = {
    var order = 0
    var i = column
    while (order == 0 && i < columns.length) {
      order =
        if (isNull(i) || that.isNull(i)) java.lang.Boolean.compare(that.isNull(i), isNull(i))
        else java.lang.Long.compare(values(i), that.values(i))
      i += 1
    }
    order
  }
}
