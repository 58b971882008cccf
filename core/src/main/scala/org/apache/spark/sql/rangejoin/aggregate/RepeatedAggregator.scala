// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Aggregates one row as many times as it has matches: for functions of the streamed side, and `count(*)`. It merges
 * buffers of 1, 2, 4, ... times the row, and never makes one of more rows than the result.
 */
final class RepeatedAggregator(aggregation: MatchAggregation) {
  private[this] val power = MatchAggregator.create(aggregation)
  private[this] val sum = MatchAggregator.create(aggregation)

  /** @param times at least once */
  def aggregate(row: InternalRow, times: Long): UnsafeRow = {
    power.clear()
    power.update(row)
    if (times == 1L) power.result()
    else if (aggregation.countsOnly) {
      val counts = power.result()
      CountBuffers.multiply(counts, times)
      counts
    } else summed(times)
  }

  private def summed(times: Long): UnsafeRow = {
    sum.clear()
    var left = times
    while (left != 0L) {
      if ((left & 1L) != 0L) sum.merge(power.result())
      left >>>= 1
      if (left != 0L) power.merge(power.result().copy())
    }
    sum.result()
  }
}
