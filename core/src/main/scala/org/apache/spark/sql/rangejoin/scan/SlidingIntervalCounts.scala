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

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.kernel.SortedBounds
import org.apache.spark.sql.rangejoin.reduce.RunAggregates

/**
 * Counts the matches of a streamed row among intervals, which leave in another order than they come in, without
 * a look at each: of those admitted that end late enough, which are in a heap by their evict bounds, all match
 * but for those that begin too late, which are the last in the order of sort bounds.
 *
 * {{{
 *   sort bound <= upper and evict bound >= lower   =   evict bound >= lower   less   sort bound > upper
 * }}}
 *
 * That is so where no interval ends before it begins, and `lower <= upper`. Takes 16 bytes for each interval that
 * a later streamed row may match.
 */
private[scan] final class SlidingIntervalCounts(runs: RunAggregates) {
  // A heap: no bound is less than that at half its place.
  private[this] var ends = new Array[Long](16)
  private[this] var size = 0
  // In order.
  private[this] var begins = new Array[Long](16)
  private[this] var firstBegin = 0
  private[this] var endOfBegins = 0
  private[this] var works = true

  /** Number of rows that may match a later streamed row. */
  def rows: Int = size

  /** Whether all rows so far could be counted. */
  def areWhole: Boolean = works

  def clear(): Unit = {
    size = 0
    firstBegin = 0
    endOfBegins = 0
    works = true
  }

  /** Adds a row, not before those that were added. */
  def add(row: UnsafeRow, sortBound: Long, evictBound: Long): Unit = {
    works = works && sortBound <= evictBound && runs.countsRow(row) && makeRoom()
    if (works) {
      push(evictBound)
      begins(endOfBegins) = sortBound
      endOfBegins += 1
    }
  }

  /**
   * The number of matches.
   *
   * @param lower no less than before, and no more than `upper`
   */
  def matches(lower: Long, upper: Long): Int = {
    while (size > 0 && ends(1) < lower) pop()
    firstBegin = SortedBounds.firstFrom(begins, firstBegin, endOfBegins, lower)
    val late =
      if (upper == Long.MaxValue) 0
      else endOfBegins - SortedBounds.firstFrom(begins, firstBegin, endOfBegins, upper + 1L)
    size - late
  }

  private def makeRoom(): Boolean = hasRoomForEnd && hasRoomForBegin

  private def hasRoomForEnd: Boolean = {
    if (size + 1 == ends.length) ends = enlarged(ends)
    size + 1 < ends.length
  }

  private def hasRoomForBegin: Boolean = {
    if (endOfBegins == begins.length) {
      val kept = endOfBegins - firstBegin
      val target = if (kept > begins.length / 2) enlarged(begins) else begins
      System.arraycopy(begins, firstBegin, target, 0, kept)
      begins = target
      firstBegin = 0
      endOfBegins = kept
    }
    endOfBegins < begins.length
  }

  /** The bounds in an array twice as large; the array itself where there is no memory for that. */
  private def enlarged(bounds: Array[Long]): Array[Long] =
    if (runs.takeMemory(bounds.length * 8L)) java.util.Arrays.copyOf(bounds, bounds.length * 2)
    else bounds

  private def push(bound: Long): Unit = {
    size += 1
    var place = size
    while (place > 1 && ends(place >>> 1) > bound) {
      ends(place) = ends(place >>> 1)
      place >>>= 1
    }
    ends(place) = bound
  }

  private def pop(): Unit = {
    val bound = ends(size)
    size -= 1
    var place = 1
    var child = 2
    while (child <= size) {
      if (child < size && ends(child + 1) < ends(child)) child += 1
      if (ends(child) < bound) {
        ends(place) = ends(child)
        place = child
        child = place << 1
      } else child = size + 1
    }
    ends(place) = bound
  }
}
