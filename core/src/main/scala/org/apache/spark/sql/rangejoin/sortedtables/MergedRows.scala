// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.InternalRow

/**
 * The rows of a partition of files, which are closed when all rows are read or no more of them are needed.
 *
 * Spark's scan closes a file when it is at its end, or else when the task ends: a task that has many partitions
 * (`coalesce`) would hold the readers of all of them. Drops everything when it is closed, since the task keeps this
 * object until it ends.
 *
 * @param opened what the files were opened under
 */
private[sortedtables] final class MergedRows(
    private[this] var rows: Iterator[InternalRow],
    private[this] var opened: FilesContext
) extends Iterator[InternalRow] {

  override def hasNext: Boolean = rows != null && (rows.hasNext || {
    close()
    false
  })

  override def next(): InternalRow =
    if (rows == null) throw new NoSuchElementException else rows.next()

  def isClosed: Boolean = rows == null

  /** Closes the files. There are no more rows. */
  def close(): Unit = if (rows != null) {
    val files = opened
    rows = null
    opened = null
    files.close()
  }
}
