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

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.reduce.{CountBuffers, MatchAggregation, MatchAggregator}

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
