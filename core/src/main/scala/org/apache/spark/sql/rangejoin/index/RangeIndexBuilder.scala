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

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock
import org.apache.spark.util.collection.unsafe.sort.RadixSort

/**
 * Builds an index of rows that come in any order: rows are numbered as they come, the numbers sorted
 * by sort bound (radix sort) and then by group (counting sort, which is stable), and the rows
 * copied in that order. All of it takes time in proportion to the rows.
 *
 * @param smallGroup up to this number of rows of a key are not searched
 * @param expected the number of rows, where it is known
 */
private[index] final class RangeIndexBuilder(
    keys: KeyDirectory.Builder,
    hasSortBound: Boolean,
    hasEvictBound: Boolean,
    smallGroup: Int,
    expected: Int
) {
  private[this] val descending = !hasSortBound
  private[this] val rows = new PackedRows.Builder(expected)
  private[this] val groups = new IntBuffer(expected)
  private[this] val sort = new LongBuffer(expected)
  private[this] val evict = if (hasSortBound && hasEvictBound) new LongBuffer(expected) else null
  private[this] var fields = 0

  /** Adds a row without NULL in its key and bounds; a bound there is not is of no importance. */
  def add(key: UnsafeRow, sortBound: Long, evictBound: Long, row: UnsafeRow): Unit = {
    fields = row.numFields
    groups += keys.add(key)
    sort += (if (descending) ~evictBound else sortBound)
    if (evict != null) evict += evictBound
    rows.append(row)
  }

  def result(beginNanos: Long): RangeIndex = {
    val starts = groupStarts
    val isSearched = largestGroup(starts) > smallGroup
    val order = rowsInOrder(starts, isSearched)
    val bounds =
      if (!isSearched) null
      else IndexBounds(permuted(sort, order), if (evict == null) null else permuted(evict, order))
    new RangeIndex(
      keys.result(),
      starts,
      bounds,
      permutedRows(order),
      fields,
      descending,
      smallGroup,
      System.nanoTime() - beginNanos)
  }

  private def groupStarts: Array[Int] = {
    val starts = new Array[Int](keys.groups + 1)
    var i = 0
    while (i < groups.size) {
      starts(groups(i) + 1) += 1
      i += 1
    }
    var group = 0
    while (group < keys.groups) {
      starts(group + 1) += starts(group)
      group += 1
    }
    starts
  }

  private def largestGroup(starts: Array[Int]): Int = {
    var largest = 0
    var group = 0
    while (group < keys.groups) {
      largest = math.max(largest, starts(group + 1) - starts(group))
      group += 1
    }
    largest
  }

  /** The numbers of the rows, by group and, where wanted, by sort bound; null if they are in order. */
  private def rowsInOrder(starts: Array[Int], bySortBound: Boolean): Array[Int] = {
    val sorted = if (bySortBound && !isSorted) numbersBySortBound else null
    if (sorted == null && isGrouped) null
    else if (keys.groups == 1) sorted
    else {
      val next = java.util.Arrays.copyOf(starts, keys.groups)
      val order = new Array[Int](groups.size)
      var i = 0
      while (i < order.length) {
        val number = if (sorted == null) i else sorted(i)
        val group = groups(number)
        order(next(group)) = number
        next(group) += 1
        i += 1
      }
      order
    }
  }

  private def isSorted: Boolean = {
    var i = 1
    while (i < sort.size && sort(i - 1) <= sort(i)) i += 1
    i >= sort.size
  }

  private def isGrouped: Boolean = {
    var i = 1
    while (i < groups.size && groups(i - 1) <= groups(i)) i += 1
    i >= groups.size
  }

  private def numbersBySortBound: Array[Int] = {
    val count = sort.size
    // Pairs of number and bound, and as much again for the sort.
    val pairs = new LongArray(MemoryBlock.fromLongArray(new Array[Long](count * 4)))
    var i = 0
    while (i < count) {
      pairs.set(2 * i, i)
      pairs.set(2 * i + 1, sort(i))
      i += 1
    }
    val from = RadixSort.sortKeyPrefixArray(pairs, 0, count, 0, 7, false, true)
    val numbers = new Array[Int](count)
    i = 0
    while (i < count) {
      numbers(i) = pairs.get(from + 2 * i).toInt
      i += 1
    }
    numbers
  }

  private def permuted(values: LongBuffer, order: Array[Int]): Array[Long] =
    if (order == null) values.toArray
    else {
      val result = new Array[Long](order.length)
      var i = 0
      while (i < order.length) {
        result(i) = values(order(i))
        i += 1
      }
      result
    }

  private def permutedRows(order: Array[Int]): PackedRows =
    if (order == null) rows.result()
    else {
      val ordered = new PackedRows.Builder(order.length)
      val row = new UnsafeRow(fields)
      var i = 0
      while (i < order.length) {
        rows.point(row, order(i))
        ordered.append(row)
        i += 1
      }
      ordered.result()
    }
}
