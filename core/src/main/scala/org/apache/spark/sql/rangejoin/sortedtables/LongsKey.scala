// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.kernel.LongColumn

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
