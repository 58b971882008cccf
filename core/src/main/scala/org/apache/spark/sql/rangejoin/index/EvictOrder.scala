// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.rangejoin.aggregate.CountedEnds
import org.apache.spark.sql.rangejoin.kernel.SortedBounds

/**
 * The evict bounds of each group of an index, sorted: how many rows of a group have one below a lower bound. Those
 * rows are all among the ones with a sort bound up to the upper bound ([[CountedEnds]]). So the number of matches is
 * the difference of two ranks, however many they are and wherever they lie.
 */
private[index] final class EvictOrder private (sorted: Array[Long], ends: CountedEnds) {

  /** Whether the matches of a streamed row can be counted. */
  def counts(lower: Long, upper: Long): Boolean = ends.areOf(lower, upper)

  /** The rows of a group with an evict bound below a lower bound. */
  def countBelow(from: Int, end: Int, lower: Long): Int = firstOf(from, end, lower) - from

  /** The position of the first row of a group that ends where a row of it does. */
  def firstOf(from: Int, end: Int, sortBound: Long, evictBound: Long): Int =
    firstOf(from, end, ends.of(sortBound, evictBound))

  private def firstOf(from: Int, end: Int, bound: Long): Int =
    SortedBounds.firstFrom(sorted, from, end, bound)
}

private[index] object EvictOrder {

  /** Bytes for each row. */
  val Bytes = 8L

  /** None where a row cannot be counted for streamed rows like one with these bounds. */
  def of(
      starts: Array[Int],
      bounds: IndexBounds,
      lower: Long,
      upper: Long): Option[EvictOrder] = {
    val ends = new CountedEnds
    ends.clear(lower, upper)
    val sorted = new Array[Long](starts.last)
    var works = true
    var i = 0
    while (works && i < sorted.length) {
      works = ends.take(bounds.sortBound(i), bounds.evict(i))
      sorted(i) = ends.of(bounds.sortBound(i), bounds.evict(i))
      i += 1
    }
    if (works) {
      var group = 0
      while (group < starts.length - 1) {
        java.util.Arrays.sort(sorted, starts(group), starts(group + 1))
        group += 1
      }
      Some(new EvictOrder(sorted, ends))
    } else None
  }
}
