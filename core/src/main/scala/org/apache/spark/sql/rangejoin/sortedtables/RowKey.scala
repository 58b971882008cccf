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
