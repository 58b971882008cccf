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
import org.apache.spark.sql.catalyst.expressions._

/** Evaluates the expressions of an aggregation row by row. */
private[reduce] final class InterpretedMatchAggregator(aggregation: MatchAggregation)
    extends MatchAggregator {
  import aggregation.types

  private[this] val buffer = new SpecificInternalRow(types)
  private[this] val beginning = MutableProjection.create(aggregation.initial).target(buffer)
  private[this] val updating = MutableProjection.create(aggregation.update.flatten).target(buffer)
  private[this] val merging = MutableProjection.create(aggregation.merge.flatten).target(buffer)
  private[this] val toUnsafe = UnsafeProjection.create(types.toArray)
  private[this] val joined = new JoinedRow

  override def clear(): Unit = beginning(InternalRow.empty)

  override def update(row: InternalRow): Unit = updating(joined(buffer, row))

  override def merge(other: InternalRow): Unit = merging(joined(buffer, other))

  override def result(): UnsafeRow = toUnsafe(buffer)
}
