// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.GuardedValue

/** The order of rows by a value, which is bound to them. */
private[index] final class ValueOrder(value: Expression) {
  private[this] val projection = UnsafeProjection.create(value)

  // The guard of a column guards nothing.
  private[this] val column = value match {
    case GuardedValue(column: BoundReference) => Some(column)
    case column: BoundReference               => Some(column)
    case _                                    => None
  }

  /** Whether the value is a column of the rows, which then are compared as they are. */
  val isColumn: Boolean = column.isDefined

  /** Compares rows or, where the value is no column, what `evaluate` has made of them. */
  val ordering: Ordering[InternalRow] = {
    val compared = column.getOrElse(BoundReference(0, value.dataType, value.nullable))
    RowOrdering.create(Seq(SortOrder(compared, Ascending)), Nil)
  }

  /** A row of the value alone, valid until the next call. */
  def evaluate(row: InternalRow): UnsafeRow = projection(row)
}
