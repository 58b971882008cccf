// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._

/** Evaluates the expressions of an aggregation row by row. */
private[aggregate] final class InterpretedMatchAggregator(aggregation: MatchAggregation)
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
