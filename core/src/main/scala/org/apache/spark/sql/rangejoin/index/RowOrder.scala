// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

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
