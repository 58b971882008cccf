// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.expressions.{BaseOrdering, UnsafeProjection, UnsafeRow}

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
