// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.{CountedEnds, RowNumbers, RunAggregates}
import org.apache.spark.sql.rangejoin.kernel.SortedBounds

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

/**
 * What the rows of an index before each of its positions add up to, in its own order and in that of the ends of the
 * rows of each group.
 */
private[index] final class IntervalSums private (
    byPosition: Array[Long],
    byEnd: Array[Long],
    width: Int
) {
  private[this] val numbers = new Array[Long](width)

  /**
   * Makes the result of `runs` that of the rows from a position to another, but for the `below`
   * that end first.
   */
  def give(from: Int, end: Int, below: Int, runs: RunAggregates): Unit = {
    var i = 0
    while (i < width) {
      numbers(i) = (byPosition(end * width + i) - byPosition(from * width + i)) -
        (byEnd((from + below) * width + i) - byEnd(from * width + i))
      i += 1
    }
    runs.give(numbers)
  }
}

private[index] object IntervalSums {

  /** None where the rows cannot be summed, or there is no memory for it. */
  def of(
      index: RangeIndex,
      order: EvictOrder,
      runs: RunAggregates): Option[IntervalSums] = {
    val width = runs.exact.width
    val length = (index.size + 1L) * width
    if (length > Int.MaxValue - 15 || !runs.takeMemory(length * 16L + index.size * 4L)) None
    else {
      val byPosition = new Array[Long](length.toInt)
      val byEnd = new Array[Long](length.toInt)
      if (read(index, order, runs, byPosition, byEnd)) {
        addUp(byPosition, width)
        addUp(byEnd, width)
        Some(new IntervalSums(byPosition, byEnd, width))
      } else None
    }
  }

  /** Puts the numbers of each row behind its position; false where they cannot be summed. */
  private def read(
      index: RangeIndex,
      order: EvictOrder,
      runs: RunAggregates,
      byPosition: Array[Long],
      byEnd: Array[Long]): Boolean = {
    val numbers = new RowNumbers(runs)
    val row = new UnsafeRow(index.fields)
    val starts = index.groups.starts
    val bounds = index.search.bounds
    // How many rows of an end have their position, by the first position of that end.
    val written = new Array[Int](index.size)
    var group = 0
    var works = true
    while (works && group < starts.length - 1) {
      numbers.clear()
      var i = starts(group)
      while (works && i < starts(group + 1)) {
        index.rows.read(i, row)
        works = numbers.read(row)
        val first = order.firstOf(
          starts(group),
          starts(group + 1),
          bounds.sortBound(i),
          bounds.evict(i))
        put(numbers, byPosition, i + 1)
        put(numbers, byEnd, first + written(first) + 1)
        written(first) += 1
        i += 1
      }
      group += 1
    }
    works
  }

  private def put(from: RowNumbers, to: Array[Long], position: Int): Unit =
    System.arraycopy(from.last, 0, to, position * from.width, from.width)

  /** Differences stay right where a sum over groups overflows. */
  private def addUp(numbers: Array[Long], width: Int): Unit = {
    var i = width
    while (i < numbers.length) {
      numbers(i) += numbers(i - width)
      i += 1
    }
  }
}
