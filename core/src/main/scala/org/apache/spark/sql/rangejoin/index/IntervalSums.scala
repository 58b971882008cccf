// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.{RowNumbers, RunAggregates}

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
