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

/**
 * A task's way through an index: finds the rows in reach of one streamed row after the other. Used as
 *
 * {{{
 *   if (seek(key) && isSearched) search(lower, upper)     // or skip() where a bound is NULL
 *   while (next()) ... row ...
 * }}}
 *
 * A row that `next` comes to is a candidate if nothing is left to ask about it: where `isUndecided`
 * the original condition of the join decides, and otherwise where a bound of a type that is only
 * a prefix is tied, the test itself.
 */
final class RangeCursor(index: RangeIndex) {
  private[this] val bounds = index.bounds
  private[this] val starts = index.starts
  private[this] val directory = index.directory
  private[this] val smallGroup = index.smallGroup
  private[this] val descending = index.descending
  private[this] val scattered = bounds != null && bounds.scattered
  private[this] val points = bounds != null && bounds.points
  private[this] val mayBeUnknown = bounds != null && bounds.mayBeUnknown
  private[this] val scratch = new UnsafeRow(0)

  // What is left of the group, or of the search.
  private[this] var position = 0
  private[this] var end = 0
  private[this] var current = 0
  private[this] var searched = false
  private[this] var searching = false
  private[this] var streamedUnknown = false
  private[this] var lower = 0L
  private[this] var upper = 0L

  private[this] var visited = 0L

  /** The row that `next` came to, valid until the next call. */
  val row: UnsafeRow = new UnsafeRow(index.fields)

  /** The number of rows that `next` came to so far. */
  def candidates: Long = visited

  /** Goes to the rows of a key of one long; false where there are none. */
  def seek(key: Long): Boolean = open(directory.find(key))

  /** Goes to the rows of a key; false where there are none. */
  def seek(key: UnsafeRow): Boolean = open(directory.find(key, scratch))

  /** Goes to all rows, of an index without keys; false where there are none. */
  def seek(): Boolean = open(0)

  private def open(group: Int): Boolean =
    if (group < 0) skip()
    else {
      position = starts(group)
      end = starts(group + 1)
      searching = false
      searched = bounds != null && end - position > smallGroup
      position < end
    }

  /** Whether the rows of the key are enough to search them. */
  def isSearched: Boolean = searched

  /** The streamed row has no match; returns false. */
  def skip(): Boolean = {
    position = 0
    end = 0
    searching = false
    false
  }

  /** Narrows down to the rows in reach of a streamed row with these bounds. */
  def search(lower: Long, upper: Long): Unit = {
    searching = true
    streamedUnknown = lower == Long.MinValue || upper == Long.MaxValue
    if (descending) {
      this.upper = ~lower
      end = bounds.firstBeyond(position, end, ~lower)
    } else if (points) {
      this.lower = lower
      this.upper = upper
      position = bounds.firstFrom(position, end, lower)
      end = bounds.firstBeyondNear(position, end, upper)
    } else {
      this.lower = lower
      this.upper = upper
      end = bounds.firstBeyond(position, end, upper)
    }
  }

  /** Goes on to the next row; false when there is none. */
  def next(): Boolean = {
    if (searching && scattered) position = bounds.nextReaching(position, end, lower)
    current = position
    position += 1
    val found = current < end
    if (found) {
      visited += 1
      index.rows.point(row, current)
    }
    found
  }

  /** Whether the bounds say nothing about the current row. */
  def isUndecided: Boolean =
    !searching || streamedUnknown || (mayBeUnknown && bounds.isExtreme(current))

  /** Whether the bounds of the upper test are equal; asked where the row is not undecided. */
  def upperTied: Boolean = !descending && bounds.sortBound(current) == upper

  /** Whether the bounds of the lower test are equal; asked where the row is not undecided. */
  def lowerTied: Boolean =
    if (descending) bounds.sortBound(current) == upper else bounds.evictBound(current) == lower
}
