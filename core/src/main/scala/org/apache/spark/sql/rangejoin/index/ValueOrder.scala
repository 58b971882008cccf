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
