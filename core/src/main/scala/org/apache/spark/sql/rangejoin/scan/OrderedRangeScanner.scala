// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.{RunAggregates, SlidingIntervals}
import org.apache.spark.sql.rangejoin.best.BestScan
import org.apache.spark.sql.rangejoin.kernel.Run
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * The scan of a window whose rows are in order by their sort bounds. It ends at the first row beyond the
 * range, and rows below the range leave the window.
 *
 * Three shorter ways to the same candidates:
 *
 *  - A '''run''': where evict bounds rise as well, behind a row that stays all stay. Up to the first sort bound
 *    beyond the range, which is searched for, no bound is read.
 *  - '''Steps''': a run that the window reads by itself, without a call of `visit` for each row.
 *  - The '''best''' candidates of a run alone, from one end of it or from its midst ([[BestScan]]).
 */
abstract class OrderedRangeScanner(parts: ScannerParts) extends RangeScanner(parts) {
  import OrderedRangeScanner._
  import RangeScanner._

  // Whether no row of the window has an evict bound below one before it, as with points and with
  // intervals of one length.
  private[this] var evictBoundsRise = true
  // Evict bound of the row appended last.
  private[this] var lastEvictBound = Long.MinValue
  // Rows from `cursor` up to here are candidates, and no bound has to be read to know it.
  private[this] var runEnd = 0
  protected[this] val run: WindowRun = new WindowRun(window, parts.best.forall(_.bySortBound))
  // Rows that the window has taken of the group.
  private[this] var appended = 0
  // Which group it is.
  private[this] var group = 0L
  // Counts the rows of the group where `counting`; null as long as none were counted.
  private[this] var intervals: SlidingIntervals = _
  private[this] var counting = false
  private[this] var candidatesBefore = 0L
  // Whether candidates from `cursor` on are read by steps.
  private[this] var stepping = false

  override protected def readBounds(): Unit = {
    super.readBounds()
    runEnd = 0
  }

  /** Begins to look for the best candidates of the streamed row, which has this point, if all of them are one run. */
  protected def beginBest(best: BestScan, point: Long): Unit =
    if (!streamedUnknown && haveNeighbours && evictBoundsRise && window.isDense) {
      evictBelowRange()
      run.beginAt(0)
      best.begin(0, rowsInReach, point)
    } else best.switchOff()

  /**
   * Whether the rows within reach are neighbours in the window if no evict bound is below one before it. Where longs
   * are prefixes of values that the window is not in the order of, they do not show it.
   */
  private def haveNeighbours: Boolean = longsDecide || (parts.tests.areNeighbours && !anyUnknown)

  private def evictBelowRange(): Unit =
    while (!window.isEmpty && leaves(window.head)) evict(window.head)

  /** How many rows from the head on are within reach, where they are in order by their values. */
  private def rowsInReach: Int = {
    var end = window.head + window.rowsUpTo(upper)
    if (!longsDecide) {
      // Of the rows with the prefix of the upper bound, those beyond it are the last.
      var step = 1
      while (end - step >= window.head && isBeyond(end - step)) {
        end -= step
        step <<= 1
      }
      var low = math.max(window.head, end - step)
      while (low < end) {
        val middle = (low + end) >>> 1
        if (isBeyond(middle)) end = middle else low = middle + 1
      }
    }
    end - window.head
  }

  /**
   * Adds the buffered row read last to the window. The rows at its head that the scan would evict
   * make room for it first, so that a window of rows that leave in the order they came is no longer
   * than one range. Others leave in the scan alone: to find them is to scan.
   */
  protected def append(preservesOwner: Boolean): Unit = {
    evictHead(preservesOwner)
    store()
  }

  /**
   * Aggregates the rows that a scan would visit, if all of them are one run, or can be counted.
   *
   * @return their number; -1 where they are not
   */
  protected def aggregateWindow(runs: RunAggregates): Int =
    if (cursor >= window.tail) 0
    else if (streamedUnknown || !haveNeighbours || appended < 0) -1
    else if (longsDecide && !evictBoundsRise) aggregateIntervals(runs)
    else if (!evictBoundsRise || !window.isDense) -1
    else {
      evictBelowRange()
      val matches = rowsInReach
      if (matches > 0) {
        // Rows that are in the order they came in, and leave at the head alone.
        val from = appended - window.size
        run.beginAt(from)
        runs.aggregate(run, group, from, from, from + matches, commonEnd(from, matches))
      }
      cursor = Int.MaxValue
      matches
    }

  /** Which end the runs before and behind this one are likely to have as well. */
  private def commonEnd(from: Int, matches: Int): Int =
    if (from == 0) RunAggregates.Begin
    else if (matches == window.size && (bufferedRow == null || !kernel.bufferedInGroup()))
      RunAggregates.End
    else RunAggregates.NoEnd

  private def aggregateIntervals(runs: RunAggregates): Int =
    if (!runs.areExact) -1
    else {
      if (!counting && isWorthCounting) beginCounting(runs)
      if (counting && intervals.wantSums) addAll(withSums = true)
      if (!counting || !intervals.canCount(lower, upper)) -1
      else {
        val matches = intervals.aggregate(lower, upper)
        // Rows of no use to a later streamed row are looked for once they are as many as the others.
        if (window.size > 2L * intervals.rows + LeastLookedFor) evictAllBelow()
        cursor = Int.MaxValue
        matches
      }
    }

  private def isWorthCounting: Boolean =
    candidates - candidatesBefore > PairsOfRow.toLong * window.size

  private def beginCounting(runs: RunAggregates): Unit = {
    counting = true
    if (intervals == null) intervals = new SlidingIntervals(runs)
    addAll(withSums = intervals.haveSums || !runs.countsOnly)
  }

  private def addAll(withSums: Boolean): Unit = {
    intervals.clear(withSums, lower, upper)
    visitWhile(intervals.areWhole) { index =>
      window.read(index, windowRow)
      intervals.add(windowRow, window.sortBound(index), window.evictBound(index))
    }
  }

  private def evictAllBelow(): Unit =
    visitWhile(true)(index => if (window.evictBound(index) < lower) evict(index))

  private def visitWhile(goesOn: => Boolean)(visit: Int => Unit): Unit = {
    var index = window.nextRow(window.head)
    while (index < window.tail && goesOn) {
      visit(index)
      index = window.nextRow(index + 1)
    }
  }

  private def evictHead(preservesOwner: Boolean): Unit =
    while (window.isHeadBelow(lower) && !(preservesOwner && !window.isMatched(window.head))) {
      evict(window.head)
    }

  override protected def store(): Unit = {
    if (window.isEmpty) {
      evictBoundsRise = true
      counting = false
    } else if (kernel.evictBound < lastEvictBound) evictBoundsRise = false
    lastEvictBound = kernel.evictBound
    appended += 1
    if (counting)
      intervals.add(bufferedRow.asInstanceOf[UnsafeRow], kernel.sortBound, kernel.evictBound)
    super.store()
  }

  override protected def emptyWindow(): Unit = {
    appended = 0
    counting = false
    candidatesBefore = candidates
    group += 1
    super.emptyWindow()
  }

  override protected def visit(preservesOwner: Boolean): Int =
    if (cursor < runEnd) {
      visited = cursor
      cursor = visited + 1
      window.read(visited, windowRow)
      candidates += 1
      Candidate
    } else search(preservesOwner)

  private def search(preservesOwner: Boolean): Int = {
    while (cursor < window.tail) {
      val index = window.nextRow(cursor)
      if (index >= window.tail || isBeyond(index)) {
        cursor = Int.MaxValue
      } else {
        cursor = index + 1
        visited = index
        if (leaves(index)) {
          if (preservesOwner && !window.isMatched(index)) return Unmatched
          evict(index)
        } else if (readCandidate()) {
          if (!asked) beginRun()
          return Candidate
        }
      }
    }
    End
  }

  /** There is a candidate before `cursor`: looks how far the rows behind it are candidates, too. */
  private def beginRun(): Unit =
    if (haveRuns) runEnd = window.firstBeyond(cursor, upper)

  /** Whether the rows behind one whose evict bound is within reach are candidates up to a sort bound. */
  protected def haveRuns: Boolean = evictBoundsRise && longsDecide && window.isContiguous

  /** Begins to read the rest of a run by steps, behind the candidate that was visited. */
  protected def beginSteps(): Unit = if (cursor < runEnd) {
    stepping = true
    window.beginSteps(visited, runEnd)
  }

  /** Points `row` from a candidate at the next of a run; false where there is none to step to. */
  protected def stepOn(row: UnsafeRow): Boolean = window.step(row)

  /** Takes up where the steps ended; nothing where none were begun. */
  protected def endSteps(): Unit = if (stepping) {
    stepping = false
    val next = window.endSteps()
    candidates += next - cursor
    cursor = next
  }
}

private object OrderedRangeScanner {

  /** Pairs visited for each row, from which on rows are counted. */
  private final val PairsOfRow = 2

  private final val LeastLookedFor = 64
}

/**
 * The rows of a window without holes, by their positions among those it has taken of a group: unlike indices of the
 * window, they hold as long as the group does.
 *
 * @param bySortBound whether it is in the order of sort bounds; else of evict bounds, which rise as well
 */
private[scan] final class WindowRun(window: RangeWindow, bySortBound: Boolean) extends Run {
  // What is added to a position for the index in the window.
  private[this] var shift = 0

  /** The row at the head of the window has this position. Holds as long as indices do. */
  def beginAt(position: Int): Unit = shift = window.head - position

  override def read(position: Int, row: UnsafeRow): Unit = window.read(position + shift, row)

  override def bound(position: Int): Long =
    if (bySortBound) window.sortBound(position + shift) else window.evictBound(position + shift)

  override def firstFrom(from: Int, end: Int, bound: Long): Int =
    if (bySortBound) {
      val below = if (bound == Long.MinValue) 0 else window.rowsUpTo(bound - 1)
      math.max(from, math.min(end, window.head + below - shift))
    } else {
      var low = from
      var high = end
      while (low < high) {
        val middle = (low + high) >>> 1
        if (this.bound(middle) < bound) low = middle + 1 else high = middle
      }
      low
    }

  override def lastCandidate(from: Int, end: Int): Int = end - 1
}
