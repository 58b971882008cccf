// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

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
