// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.RunAggregates
import org.apache.spark.sql.rangejoin.best.{BestOrder, BestScan, RankPoint}
import org.apache.spark.sql.rangejoin.condition.UnknownBounds
import org.apache.spark.sql.rangejoin.join.CandidateScanner
import org.apache.spark.sql.rangejoin.kernel.Run

/**
 * A task's way through an index: finds the rows in reach of one streamed row after the other. Used as
 *
 * {{{
 *   if (seek(key) && isSearched) {
 *     if (wantsSecond()) aimSecond(...)   // where there is a second range
 *     search(lower, upper)                // or skip() where a bound is NULL
 *     while (asks()) answer(asksUpper ? upperTest(row) : lowerTest(row))
 *   }
 *   while (next()) ... row ...
 * }}}
 *
 * A row that `next` comes to is a candidate, unless it `isUndecided`: then it is one if the original
 * condition of the join says so.
 *
 * Where bounds are prefixes of values, equal ones say nothing, and the search asks the test itself ([[PrefixSearch]]).
 *
 * Where only the best matches are wanted, `next` begins with the best, and has an end when `take` was called for as
 * many; if they are in no order of the index, it returns all candidates. `aim` goes before `search` where they are
 * compared with a point.
 *
 * @param best which candidates of a streamed row are wanted; None for all of them
 * @param unknown which bounds may be unknown
 * @param second a second range to search by; None where there is none
 */
final class RangeCursor(
    index: RangeIndex,
    best: Option[BestOrder],
    unknown: UnknownBounds,
    second: Option[SecondBounds])
    extends Run {
  private[this] val starts = index.groups.starts
  private[this] val directory = index.groups.directory
  private[this] val rows = index.rows
  private[this] val unique = index.keyIsUnique && index.size == index.groups.size
  // What there is only where groups are searched.
  private[this] val mode = index.search
  private[this] val bounds = if (mode == null) null else mode.bounds
  private[this] val evict = if (mode == null) null else bounds.evict
  private[this] val largestUnsearched = if (mode == null) Int.MaxValue else mode.linearScanThreshold
  private[this] val descending = mode != null && mode.descending
  private[this] val asksEvict = mode != null && mode.asksEvict
  private[this] val scattered = mode != null && bounds.scattered
  private[this] val points = mode != null && bounds.points
  private[this] val mayBeUnknown = mode != null && bounds.mayBeUnknown
  private[this] val scratch = new UnsafeRow(0)

  // The group, and what is left of it, or of the search.
  private[this] var group = 0
  private[this] var position = 0
  private[this] var end = 0
  private[this] var current = 0
  private[this] var searched = false
  private[this] var searching = false
  private[this] var streamedUnknown = false
  private[this] var lower = 0L
  // The bound of the test that rows are sorted by, as if it were the upper one.
  private[this] var greatest = 0L

  // Null where all are wanted, or the best ones are in no order of the index.
  private[this] val bestScan =
    best.filter(mode != null && mode.isInOrderOf(_)).map(new BestScan(this, _, descending)).orNull
  private[this] val nearest = bestScan != null && best.get.nearest
  private[this] var point = RankPoint.Unknown
  // Whether it is `bestScan` that goes on.
  private[this] var byBest = false
  // Whether `next` goes from the end of the search to its begin, to those rows that reach the lower bound.
  private[this] var backwards = false
  // Up to which row `step` goes on from the row that `next` came to; 0 where it does not.
  private[this] var runEnd = 0

  // Null where there is no second range. Used for a search where `bySlabs`, and then no row is left otherwise.
  private[this] val slabs =
    if (mode == null || mode.slabs == null || !second.contains(mode.slabs.second)) null
    else new SlabCursor(mode.slabs)
  private[this] var bySlabs = false

  private[this] var visited = 0L
  private[this] val intervals = new IndexedIntervals(index)
  // Rows of a group with one bound each are all within reach from the first on.
  private[this] val commonEnd =
    if (mode != null && evict == null && !points) RunAggregates.Begin else RunAggregates.NoEnd

  /** The index of the current row among all of them. */
  def rowIndex: Int = current

  /** The row that `next` came to, valid until the next call. */
  val row: UnsafeRow = new UnsafeRow(index.fields)

  // Null where longs are the values.
  private[this] val prefixes =
    if (mode != null && (mode.asksSort || mode.asksEvict)) new PrefixSearch(mode, rows, row)
    else null

  /** Whether the index was built of no rows. */
  def buildIsEmpty: Boolean = index.buildIsEmpty

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
      this.group = group
      // Keys are numbered as they come, so that one row each means that it has the number of its key.
      position = if (unique) group else starts(group)
      end = if (unique) group + 1 else starts(group + 1)
      endSearch()
      searched = end - position > largestUnsearched
      position < end
    }

  /** Whether the rows of the key are enough to search them. */
  def isSearched: Boolean = searched

  /** The streamed row has no match; returns false. */
  def skip(): Boolean = {
    position = 0
    end = 0
    endSearch()
    false
  }

  private def endSearch(): Unit = {
    searching = false
    byBest = false
    backwards = false
    runEnd = 0
    if (prefixes != null) prefixes.clear()
    bySlabs = false
  }

  /** Takes the point of the streamed row that is searched for next, or `RankPoint.Unknown`. */
  def aim(point: Long): Unit = this.point = point

  /** Whether a search by two ranges is likely to come to far fewer rows: then `aimSecond` has to come before it. */
  def wantsSecond(): Boolean = slabs != null && slabs.isWanted(group, end - position, visited)

  /**
   * Takes the bounds by the second range of the streamed row that is searched for next; not called where one is NULL.
   */
  def aimSecond(lower: Long, upper: Long): Unit = bySlabs = slabs.aim(lower, upper)

  /** Narrows down to the rows in reach of a streamed row with these bounds. */
  def search(lower: Long, upper: Long): Unit = {
    searching = true
    streamedUnknown = unknown.inStreamed(lower, upper)
    bySlabs = bySlabs && !streamedUnknown
    if (bySlabs) {
      slabs.begin(group, lower, upper)
      end = position
    } else searchByOne(lower, upper)
  }

  private def searchByOne(lower: Long, upper: Long): Unit = {
    this.lower = lower
    backwards = scattered
    greatest = if (descending) ~lower else upper
    if (prefixes != null) {
      prefixes.begin(group, position, end, lower, greatest)
      takePrefixes()
    } else if (points) {
      position = bounds.firstFrom(group, position, end, lower)
      end = bounds.firstBeyondNear(position, end, greatest)
    } else {
      end = bounds.firstBeyond(group, position, end, greatest)
    }
    if (bestScan != null) beginBest()
  }

  /** Whether the search has to know what a test says of the current row. */
  def asks(): Boolean = prefixes != null && {
    val goesOn = prefixes.asks()
    if (!goesOn && searching && !bySlabs) {
      takePrefixes()
      if (bestScan != null) beginBest()
    }
    goesOn
  }

  private def takePrefixes(): Unit = {
    position = prefixes.from
    end = prefixes.until
    lower = prefixes.lowerBound
  }

  /** Whether it is the upper test that is asked. */
  def asksUpper: Boolean = prefixes.asksUpper

  /** Takes the result of the test for the current row. */
  def answer(holds: Boolean): Unit = prefixes.answer(holds)

  /** Only rows whose bounds are known are in the order of their values, and only neighbours are nearest to a point. */
  private def beginBest(): Unit = {
    byBest = !streamedUnknown && !mayBeUnknown && !(nearest && scattered && !evict.rises)
    if (byBest) {
      val from =
        if (nearest && scattered) evict.firstReaching(position, end, lower) else position
      bestScan.begin(from, end, point)
      byBest = bestScan.isOn
    }
  }

  /** Says that the current row is a match. */
  def take(): Unit = if (byBest) bestScan.take()

  /** Goes on to the next row; false when there is none, or no other is wanted. */
  def next(): Boolean =
    if (byBest) nextBest() else nextOfSearch() || (bySlabs && nextInSlabs())

  private def nextBest(): Boolean = {
    val found = bestScan.next(row)
    if (found) {
      visited += 1
      current = bestScan.position
    }
    found
  }

  private def nextInSlabs(): Boolean = {
    current = slabs.next()
    val found = current >= 0
    if (found) {
      visited += 1
      rows.read(current, row)
    }
    found
  }

  private def nextOfSearch(): Boolean = {
    if (backwards) {
      current = evict.lastReaching(position, end, lower)
      end = current
    } else {
      current = position
      position += 1
    }
    val found = if (backwards) current >= position else current < end
    if (found) {
      visited += 1
      rows.read(current, row)
      runEnd = if (isRun) end else 0
    }
    found
  }

  /** Points a row of the caller's at the current row. */
  def beginSteps(row: UnsafeRow): Unit = CandidateScanner.pointTo(row, this.row)

  /**
   * Like `next`, with a row of the caller's, and false where the next row is not simply the one behind
   * the current in memory, or the bounds may say nothing about it.
   */
  def step(row: UnsafeRow): Boolean = {
    val steps = position < runEnd
    if (steps) {
      current = position
      position += 1
      visited += 1
      rows.read(current, row)
    }
    steps
  }

  /**
   * Marks all that is left of a search and goes to its end, if those are rows one behind the other whose
   * bounds say that they match; false where they are not, and nothing was done.
   */
  def markRun(marks: MatchMarks): Boolean = {
    val run = isRun
    if (run && position < end) {
      marks.markRun(position, end)
      visited += end - position
      position = end
    }
    run
  }

  /** Whether what is left of a search are rows one behind the other whose bounds say that they match. */
  private def isRun: Boolean = !scattered && boundsDecide

  private def boundsDecide: Boolean =
    searching && !byBest && !streamedUnknown && !mayBeUnknown && !bySlabs

  /** Whether the bounds decide about the rows that were found, if any were. */
  def mayBeRun: Boolean = position >= end || boundsDecide

  /**
   * Aggregates all that is left of a search and goes to its end, if those are adjacent rows whose bounds say that they
   * match, or if they need not be visited.
   *
   * @return their number; -1 if they have to be visited, and nothing was done
   */
  def aggregateRun(runs: RunAggregates): Int =
    if (position >= end && !bySlabs) 0
    else if (!boundsDecide) -1
    else if (scattered && (asksEvict || !evict.rises)) aggregateScattered(runs)
    else {
      val from = if (scattered) evict.firstReaching(position, end, lower) else position
      if (from < end) runs.aggregate(this, 0L, 0, from, end, commonEnd)
      position = end
      end - from
    }

  private def aggregateScattered(runs: RunAggregates): Int =
    if (prefixes != null) -1
    else {
      val matches = intervals.aggregate(group, end, lower, greatest, runs, visited)
      if (matches >= 0) position = end
      matches
    }

  override def read(position: Int, row: UnsafeRow): Unit = rows.read(position, row)

  override def bound(position: Int): Long = bounds.sortBound(position)

  override def firstFrom(from: Int, end: Int, bound: Long): Int =
    math.min(end, bounds.firstFrom(group, from, end, bound))

  override def lastCandidate(from: Int, end: Int): Int =
    if (scattered) evict.lastReaching(from, end, lower) else end - 1

  /** Whether the bounds say nothing about the current row. */
  def isUndecided: Boolean =
    !searching || streamedUnknown || (mayBeUnknown && bounds.isUnknown(current))
}
