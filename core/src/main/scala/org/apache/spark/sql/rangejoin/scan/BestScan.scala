// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.best.{BestOrder, RankCounter, RankPoint, StreamedPoint}
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.sql.rangejoin.window.RangeWindow

/**
 * The scan of a streamed row that looks for its best matches: of candidates that are neighbours in the
 * window, in the order of their bounds, from one end to as many matches as are wanted; or from a point
 * between them to either end.
 */
private[scan] final class BestScan(window: RangeWindow, order: BestOrder) {
  private[this] val counter = new RankCounter(order)
  private[this] val bySortBound = order.bySortBound
  private[this] val nearest = order.nearest
  private[this] val nullsBehind = order.nullsBehind
  private[this] val rankPoint = order.rankPoint.orNull
  private[this] val pointOf = order.rankPoint.map(a => new StreamedPoint(a.point)).orNull
  private[this] var point = 0L
  private[this] var step = if (order.descending) -1 else 1
  // The candidates that are left, from `next` on to the one behind the last.
  private[this] var next = 0
  private[this] var last = 0
  // What is left before the point, while the part behind it is read; none elsewhere.
  private[this] var before = -1
  private[this] var beforeEnd = -1
  // The bound of the candidate found last: another thread may have the window's memory when it turns out a match.
  private[this] var currentBound = 0L
  private[this] var on = false

  /** Whether the current streamed row is scanned in this way. */
  def isOn: Boolean = on

  /** The current streamed row is scanned in another way. */
  def end(): Unit = on = false

  /**
   * Begins to scan the rows of a window from its head on; all of them are candidates. Not where the point of the
   * streamed row says nothing about their order.
   *
   * @param behind the index behind the last of them
   */
  def begin(behind: Int, streamed: InternalRow): Unit = {
    val head = window.head
    before = -1
    beforeEnd = -1
    point = if (rankPoint == null) 0L else pointOf(streamed)
    counter.clear(point)
    on = rankPoint == null || head >= behind || (point != RankPoint.Unknown && holds(head, behind))
    if (on && nearest) beginAt(firstFrom(head, behind, point), head, behind)
    else {
      next = if (step > 0) head else behind - 1
      last = if (step > 0) behind else head - 1
    }
  }

  /** Whether the point says something about the order of the rows of a run, but for those of a NULL. */
  private def holds(head: Int, behind: Int): Boolean = {
    val end =
      if (!nullsBehind || boundOf(behind - 1) != RangeBound.BehindValues) behind
      else firstFrom(head, behind, RangeBound.BehindValues)
    end == head || (rankPoint.holds(point, boundOf(head)) && rankPoint.holds(
      point,
      boundOf(end - 1)))
  }

  private def beginAt(middle: Int, head: Int, behind: Int): Unit = {
    step = 1
    next = middle
    last = behind
    before = middle - 1
    beforeEnd = head - 1
  }

  private def boundOf(index: Int): Long =
    if (bySortBound) window.sortBound(index) else window.evictBound(index)

  /** The first row of a run at or behind a point. */
  private def firstFrom(from: Int, end: Int, point: Long): Int =
    if (bySortBound) {
      val before = if (point == Long.MinValue) 0 else window.rowsUpTo(point - 1)
      math.max(from, math.min(end, window.head + before))
    } else searchFrom(from, end, point)

  /** The same by bounds that the window cannot search by itself. */
  private def searchFrom(from: Int, end: Int, point: Long): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (boundOf(middle) < point) low = middle + 1 else high = middle
    }
    low
  }

  /** Points `row` at the next candidate; false where no other is wanted. */
  def nextCandidate(row: UnsafeRow): Boolean = nextOfPart(row) || (before != beforeEnd && {
    counter.clear(point)
    step = -1
    next = before
    last = beforeEnd
    before = beforeEnd
    nextOfPart(row)
  })

  private def nextOfPart(row: UnsafeRow): Boolean =
    next != last && {
      currentBound = boundOf(next)
      !counter.isBeyond(currentBound)
    } && {
      window.read(next, row)
      next += step
      true
    }

  /** Says that the candidate found last is a match. */
  def take(): Unit = if (on) counter.take(currentBound)
}
