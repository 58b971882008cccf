// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Rows that are said to be in order, one at a time; checks that they are.
 *
 * @param key of no other source; has the sort columns of the current row
 * @param outOfOrder the error for a row that is less than the one before
 */
private[sortedtables] final class SortedSource(
    rows: Iterator[UnsafeRow],
    val key: SortKey,
    outOfOrder: () => Throwable
) extends Iterator[InternalRow] {
  private[this] var isOpen = false

  /**
   * The first call opens the file, which sets `input_file_name()`. It is unset here: a sort in this place would have
   * read all files, after which there is none.
   */
  override def hasNext: Boolean =
    if (isOpen) rows.hasNext
    else {
      isOpen = true
      val more = rows.hasNext
      InputFileBlockHolder.unset()
      more
    }

  override def next(): UnsafeRow = {
    val row = rows.next()
    if (!key.moveTo(row)) throw outOfOrder()
    row
  }
}
