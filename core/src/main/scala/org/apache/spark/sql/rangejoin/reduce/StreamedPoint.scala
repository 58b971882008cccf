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

package org.apache.spark.sql.rangejoin.reduce

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection}

/** The point of a streamed row that its candidates are compared with. */
final class StreamedPoint(point: Expression) {
  private[this] val projection = UnsafeProjection.create(Seq(point))

  /** The point, or `RankPoint.Unknown`. */
  def apply(streamed: InternalRow): Long = {
    val row = projection(streamed)
    if (row.isNullAt(0)) RankPoint.Unknown else row.getLong(0)
  }
}
