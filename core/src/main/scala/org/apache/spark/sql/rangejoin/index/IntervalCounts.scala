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

import org.apache.spark.sql.rangejoin.reduce.{RunAggregates, RunRows}

/**
 * Counts the rows of intervals by their sorted ends ([[EvictOrder]]), from the time on that as many pairs were
 * looked at as there are rows: a sort is to be worth it.
 */
private[index] final class IntervalCounts(index: RangeIndex) {
  // Null where rows cannot be counted, or were not yet.
  private[this] var order: EvictOrder = _
  private[this] var tried = false

  /**
   * The rows of a group that end below a lower bound; -1 where matches have to be looked at.
   *
   * @param visited how many pairs were looked at
   */
  def below(
      group: Int,
      lower: Long,
      runs: RunAggregates,
      rows: RunRows,
      visited: Long): Int =
    if (!runs.countsOnly) -1
    else {
      if (!tried && visited > index.size) {
        tried = true
        order = sorted(runs, rows)
      }
      val starts = index.groups.starts
      if (order == null) -1 else order.countBelow(starts(group), starts(group + 1), lower)
    }

  private def sorted(runs: RunAggregates, rows: RunRows): EvictOrder =
    if (runs.countsAll(rows, index.size) && runs.takeMemory(index.size * EvictOrder.Bytes))
      EvictOrder.of(index.groups.starts, index.search.bounds).orNull
    else null
}
