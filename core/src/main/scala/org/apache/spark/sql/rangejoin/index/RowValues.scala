// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions._

/**
 * Compares the rows of an index that is being built by a value, which their bounds are only prefixes of.
 * Rows are named by their positions. Sorts in place by comparing, with an object for each position.
 *
 * @param order by position, the number of the row; null where rows are in their positions
 */
private[index] final class RowValues(
    by: ValueOrder,
    ascending: Boolean,
    rows: PackedRows.Builder,
    fields: Int,
    order: Array[Int]
) {
  private[this] val a = new UnsafeRow(fields)
  private[this] val b = new UnsafeRow(fields)
  // By number of the row; a value that is not a column of the rows is evaluated once.
  private[this] val evaluated = if (by.isColumn) null else new Array[UnsafeRow](rows.size)

  private def compare(first: Int, second: Int): Int = {
    val compared = by.ordering.compare(value(first, a), value(second, b))
    if (ascending) compared else -compared
  }

  private def value(position: Int, row: UnsafeRow): UnsafeRow = {
    val number = if (order == null) position else order(position)
    if (evaluated == null) {
      rows.read(number, row)
      row
    } else {
      if (evaluated(number) == null) {
        rows.read(number, row)
        evaluated(number) = by.evaluate(row).copy()
      }
      evaluated(number)
    }
  }

  /** Sorts a part of an array of positions by value. */
  def sort(positions: Array[Int], from: Int, end: Int): Unit = sortBy(positions, from, end)(compare)

  /** Sorts a part of an array of positions, by a bound and then by value. */
  def sortByBound(positions: Array[Int], from: Int, end: Int, bounds: Array[Long]): Unit =
    sortBy(positions, from, end) { (x, y) =>
      val byBound = java.lang.Long.compare(bounds(x), bounds(y))
      if (byBound != 0) byBound else compare(x, y)
    }

  private def sortBy(positions: Array[Int], from: Int, end: Int)(
      comparing: (Int, Int) => Int): Unit = {
    val part = Array.tabulate[Integer](end - from)(i => positions(from + i))
    java.util.Arrays.sort(part, (x: Integer, y: Integer) => comparing(x, y))
    var i = from
    while (i < end) {
      positions(i) = part(i - from)
      i += 1
    }
  }

  /**
   * Replaces the bounds of a group, whose positions are sorted by bound and value, by ranks. A bound that may be unknown
   * stays what it is.
   */
  def rank(bounds: Array[Long], positions: Array[Int], from: Int, end: Int): Unit = {
    val ranks = new Array[Long](end - from)
    var i = from
    while (i < end) {
      val bound = bounds(positions(i))
      ranks(i - from) =
        if (bound == Long.MaxValue) bound
        else if (i == from) 0L
        else {
          val before = positions(i - 1)
          val same = bounds(before) == bound && compare(before, positions(i)) == 0
          ranks(i - from - 1) + (if (same) 0L else 1L)
        }
      i += 1
    }
    i = from
    while (i < end) {
      bounds(positions(i)) = ranks(i - from)
      i += 1
    }
  }
}
