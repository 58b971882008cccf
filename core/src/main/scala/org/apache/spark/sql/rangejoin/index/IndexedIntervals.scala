// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.RunAggregates

/**
 * Counts and sums matching intervals by their sorted ends ([[EvictOrder]], [[IntervalSums]]). The ends are sorted only
 * once the search has visited as many pairs as the index has rows (for sums, several times as many), so that the sort
 * pays.
 */
private[index] final class IndexedIntervals(index: RangeIndex) {
  // Null if rows cannot be counted, or were not yet.
  private[this] var order: EvictOrder = _
  // Null if each row counts as one.
  private[this] var sums: IntervalSums = _
  private[this] var tried = false

  /**
   * Sets the result of `runs` to the aggregate of those rows of a group, before `end`, whose evict bound is at least
   * `lower`; all of them have a sort bound of at most `upper`.
   *
   * @param visited how many pairs the search has visited so far
   * @return their number; -1 if matches have to be visited one by one
   */
  def aggregate(
      group: Int,
      end: Int,
      lower: Long,
      upper: Long,
      runs: RunAggregates,
      visited: Long): Int =
    if (!runs.areExact) -1
    else {
      if (!tried && visited > index.size * pairsOfRow(runs)) {
        tried = true
        prepare(lower, upper, runs)
      }
      if (order == null || !order.counts(lower, upper)) -1
      else {
        val from = index.groups.starts(group)
        val below = order.countBelow(from, index.groups.starts(group + 1), lower)
        val matches = end - from - below
        if (sums == null) runs.count(matches) else sums.give(from, end, below, runs)
        matches
      }
    }

  /** How many visited pairs cost as much as sorting one row, or summing it in two orders. */
  private def pairsOfRow(runs: RunAggregates): Long =
    if (runs.countsOnly) 1L else 2L + runs.exact.width

  private def prepare(lower: Long, upper: Long, runs: RunAggregates): Unit =
    if (runs.takeMemory(index.size * EvictOrder.Bytes)) {
      order = EvictOrder.of(index.groups.starts, index.search.bounds, lower, upper).orNull
      if (order != null && !(runs.countsOnly && isCountOfRows(runs))) {
        sums = IntervalSums.of(index, order, runs).orNull
        if (sums == null) order = null
      }
    }

  /** For counts: whether every row counts as one. */
  private def isCountOfRows(runs: RunAggregates): Boolean =
    runs.exact.width == 0 || {
      val row = new UnsafeRow(index.fields)
      var i = 0
      while (i < index.size && {
          index.rows.read(i, row)
          runs.countsRow(row)
        }) i += 1
      i == index.size
    }
}
