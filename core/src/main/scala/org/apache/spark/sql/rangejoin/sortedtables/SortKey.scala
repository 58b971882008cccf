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

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The sort columns of the current row of a file, which outlive the row. */
private[sortedtables] abstract class SortKey {

  /** Takes up the columns of the next row; false where they are less than those it had. */
  def moveTo(row: UnsafeRow): Boolean

  /** The first column, as a long, for a merge to compare; see [[SortKeys.areWhole]]. */
  def first: Long

  /** The second column, likewise. */
  def second: Long
}
