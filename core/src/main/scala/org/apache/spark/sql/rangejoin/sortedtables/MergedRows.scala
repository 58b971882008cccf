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
