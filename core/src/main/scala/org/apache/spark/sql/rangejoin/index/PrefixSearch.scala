// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * The part of a cursor's search that asks, where bounds are prefixes of values and equal ones say nothing: a binary
 * search among the rows with the prefix of the streamed bound, and, for the second test, among the rows of the group in
 * the order of their evict bounds, which gives the rank of the streamed one.
 *
 * @param row points at the row that is asked about
 */
private[index] final class PrefixSearch(mode: GroupSearch, rows: PackedRows, row: UnsafeRow) {
  import PrefixSearch._

  private[this] val bounds = mode.bounds
  private[this] val evict = bounds.evict
  private[this] val points = bounds.points

  // A binary search that asks the test: what it looks for, and among which rows or positions.
  private[this] var asking = Idle
  private[this] var low = 0
  private[this] var high = 0
  private[this] var probe = 0
  private[this] var group = 0
  private[this] var groupStart = 0
  private[this] var groupEnd = 0
  private[this] var knownEnd = 0

  // What is left of the group, and its lower bound: a rank, once it was searched for.
  private[this] var position = 0
  private[this] var end = 0
  private[this] var lower = 0L

  /** The first row that is left. */
  def from: Int = position

  /** Behind the last row that is left. */
  def until: Int = end

  def lowerBound: Long = lower

  /** Has nothing to ask. */
  def clear(): Unit = asking = Idle

  /**
   * Begins to narrow down the rows of a group.
   *
   * @param greatest the bound of the test that rows are sorted by, as if it were the upper one
   */
  def begin(group: Int, from: Int, until: Int, lower: Long, greatest: Long): Unit = {
    this.group = group
    this.lower = lower
    groupStart = from
    groupEnd = until
    position = from
    end = bounds.firstBeyond(group, from, until, greatest)
    high = end
    low =
      if (mode.asksSort && greatest != Long.MaxValue)
        bounds.firstFrom(group, position, end, greatest)
      else end
    asking = End
  }

  /** Whether the search has to know what a test says of the current row. */
  def asks(): Boolean = {
    while (asking != Idle && low >= high) concludes()
    val goesOn = asking != Idle
    if (goesOn) {
      probe = (low + high) >>> 1
      rows.read(if (asking == Rank) evict.rowByRank(probe) else probe, row)
    }
    goesOn
  }

  /** Whether it is the upper test that is asked. */
  def asksUpper: Boolean = asking == End && !mode.descending

  /** Takes the result of the test for the current row. */
  def answer(holds: Boolean): Unit =
    // The test by which rows are sorted holds up to a row, the other one from a row on.
    if (holds == (asking == End)) low = probe + 1 else high = probe

  private def concludes(): Unit = {
    val found = low
    if (asking == End) {
      end = found
      if (points) beginStart()
      else if (mode.asksEvict && lower != Long.MinValue) beginRank()
      else asking = Idle
    } else {
      if (asking == Start) position = found else lower = evict.rankAt(found, knownEnd)
      asking = Idle
    }
  }

  private def beginStart(): Unit = {
    position = bounds.firstFrom(group, position, end, lower)
    low = position
    high = if (lower == Long.MinValue) position else bounds.firstBeyond(group, position, end, lower)
    asking = Start
  }

  private def beginRank(): Unit = {
    knownEnd = evict.firstUnknown(groupStart, groupEnd)
    low = groupStart
    high = knownEnd
    asking = Rank
  }
}

private object PrefixSearch {
  // What is asked for: nothing; the end of the rows in reach; the first of them; the rank of the
  // lower bound. Constants, so that comparing them is cheap.
  private final val Idle = 0
  private final val End = 1
  private final val Start = 2
  private final val Rank = 3
}
