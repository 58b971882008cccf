// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.GuardedValue
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock
import org.apache.spark.util.collection.PrimitiveVector
import org.apache.spark.util.collection.unsafe.sort.RadixSort

/**
 * Puts rows, which are numbered as they come, in the order of an index: a counting sort by group, then a
 * sort of each group by bound. Rows that are equal in both stay as they came.
 *
 * @param groups of the rows
 * @param starts the first position of each group, and the end of the last
 */
private[index] final class RowOrder(groups: PrimitiveVector[Int], starts: Array[Int]) {
  import RowOrder._

  private[this] val count = groups.size

  /** The number of rows of the largest group. */
  val largestGroup: Int = {
    var largest = 0
    var group = 0
    while (group < starts.length - 1) {
      largest = math.max(largest, starts(group + 1) - starts(group))
      group += 1
    }
    largest
  }

  /** Whether rows come by group and, where there are bounds, within a group by bound. */
  def isGiven(bounds: Option[PrimitiveVector[Long]]): Boolean = {
    val sorted = bounds.orNull
    var i = 1
    while (i < count && groups(i - 1) <= groups(i) &&
      (sorted == null || groups(i - 1) != groups(i) || sorted(i - 1) <= sorted(i))) i += 1
    i >= count
  }

  /** Bytes that `sortGroups` allocates. */
  def bytesToSort: Long = if (largestGroup > InsertionRows) largestGroup * 32L else 0L

  /** The numbers of the rows by group. */
  def byGroup: Array[Int] = {
    val next = java.util.Arrays.copyOf(starts, starts.length - 1)
    val numbers = new Array[Int](count)
    var i = 0
    while (i < count) {
      val group = groups(i)
      numbers(next(group)) = i
      next(group) += 1
      i += 1
    }
    numbers
  }

  /**
   * Sorts the rows of each group by bound.
   *
   * @param numbers of the rows by group
   * @param bounds of these rows
   */
  def sortGroups(numbers: Array[Int], bounds: Array[Long]): Unit = {
    // Pairs of number and bound, and as much again for the sort.
    val pairs =
      if (bytesToSort == 0L) null
      else new LongArray(MemoryBlock.fromLongArray(new Array[Long](largestGroup * 4)))
    var group = 0
    while (group < starts.length - 1) {
      val (from, end) = (starts(group), starts(group + 1))
      if (end - from > InsertionRows) radixSort(bounds, numbers, from, end, pairs)
      else insertionSort(bounds, numbers, from, end)
      group += 1
    }
  }
}

private[index] object RowOrder {

  /** Up to this many rows are sorted by insertion; radix sort counts 256 values of each byte. */
  private final val InsertionRows = 48

  private def insertionSort(bounds: Array[Long], numbers: Array[Int], from: Int, end: Int): Unit = {
    var i = from + 1
    while (i < end) {
      val bound = bounds(i)
      val number = numbers(i)
      var position = i
      while (position > from && bounds(position - 1) > bound) {
        bounds(position) = bounds(position - 1)
        numbers(position) = numbers(position - 1)
        position -= 1
      }
      bounds(position) = bound
      numbers(position) = number
      i += 1
    }
  }

  private def radixSort(
      bounds: Array[Long],
      numbers: Array[Int],
      from: Int,
      end: Int,
      pairs: LongArray
  ): Unit = {
    var sorted = true
    var i = from
    while (i < end) {
      sorted &= i == from || bounds(i - 1) <= bounds(i)
      pairs.set(2 * (i - from), numbers(i))
      pairs.set(2 * (i - from) + 1, bounds(i))
      i += 1
    }
    if (!sorted) {
      val first = RadixSort.sortKeyPrefixArray(pairs, 0, end - from, 0, 7, false, true)
      i = from
      while (i < end) {
        numbers(i) = pairs.get(first + 2 * (i - from)).toInt
        bounds(i) = pairs.get(first + 2 * (i - from) + 1)
        i += 1
      }
    }
  }
}

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

/** The order of rows by a value, which is bound to them. */
private[index] final class ValueOrder(value: Expression) {
  private[this] val projection = UnsafeProjection.create(value)

  // The guard of a column guards nothing.
  private[this] val column = condOpt(value) {
    case GuardedValue(column: BoundReference) => column
    case column: BoundReference               => column
  }

  /** Whether the value is a column of the rows, which then are compared as they are. */
  val isColumn: Boolean = column.isDefined

  /** Compares rows or, where the value is no column, what `evaluate` has made of them. */
  val ordering: Ordering[InternalRow] = {
    val compared = column.getOrElse(BoundReference(0, value.dataType, value.nullable))
    RowOrdering.create(Seq(SortOrder(compared, Ascending)), Nil)
  }

  /** A row of the value alone, valid until the next call. */
  def evaluate(row: InternalRow): UnsafeRow = projection(row)
}
