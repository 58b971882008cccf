// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.rangejoin.kernel.{OrderedLong, RangeBound, Run}

/**
 * Finds the best candidates of a streamed row, which are neighbours in a run: from one end of them to as many matches as
 * are wanted, or from a point between them to either end. It reads the candidates that come out and one more.
 *
 * {{{
 *   the greatest                from      ◀──────── end
 *   nearest to a point          from ◀─── point ──▶ end      first what is behind the point
 * }}}
 *
 * @param turned whether the bounds of the run are the complements of those that the order and points are of
 */
final class BestScan(run: Run, order: BestOrder, turned: Boolean = false) {
  private[this] val counter = new RankCounter(order, turned)
  private[this] val isFromEnd = order.descending != turned
  private[this] val nearest = order.nearest
  private[this] val nullsBehind = order.nullsBehind
  private[this] val rankPoint = order.rankPoint.orNull
  private[this] var point = 0L
  // The candidates that are left.
  private[this] var from = 0
  private[this] var end = 0
  private[this] var backwards = false
  // Those before the point, while those behind it are read; none elsewhere.
  private[this] var before = 0
  private[this] var beforeEnd = 0
  // The candidate found last. Its bound is kept: the run may be on disk when it turns out a match.
  private[this] var current = 0
  private[this] var currentBound = 0L
  private[this] var on = false

  /** Whether the current streamed row is scanned in this way. */
  def isOn: Boolean = on

  /** The position of the candidate found last. */
  def position: Int = current

  /** The current streamed row is scanned in another way. */
  def switchOff(): Unit = on = false

  /**
   * Begins with the candidates of a streamed row. Not where its point says nothing about their order.
   *
   * @param point of the streamed row, or `RankPoint.Unknown`; of no meaning in an order without points
   */
  def begin(from: Int, end: Int, point: Long): Unit = {
    this.from = from
    this.end = end
    this.point = if (turned && point != RankPoint.Unknown) ~point else point
    counter.clear(this.point)
    before = 0
    beforeEnd = 0
    on = rankPoint == null || from >= end || (point != RankPoint.Unknown && holds)
    backwards = isFromEnd && !nearest
    if (on && nearest) {
      before = from
      beforeEnd = run.firstFrom(from, end, this.point)
      this.from = beforeEnd
    }
  }

  /** Whether the point says something about the order of the candidates, but for those of a NULL. */
  private def holds: Boolean = {
    val last =
      if (!nullsBehind || run.bound(end - 1) != RangeBound.BehindValues) end
      else run.firstFrom(from, end, RangeBound.BehindValues)
    last == from ||
    (rankPoint.holds(point, run.bound(from)) && rankPoint.holds(point, run.bound(last - 1)))
  }

  /** Points `row` at the next candidate; false where no other is wanted. */
  def next(row: UnsafeRow): Boolean = nextOfPart(row) || (before < beforeEnd && {
    counter.clear(point)
    from = before
    end = beforeEnd
    beforeEnd = before
    backwards = true
    nextOfPart(row)
  })

  private def nextOfPart(row: UnsafeRow): Boolean = {
    current = if (backwards) run.lastCandidate(from, end) else from
    val found = current >= from && current < end && {
      currentBound = run.bound(current)
      !counter.isBeyond(currentBound)
    }
    if (found) {
      if (backwards) end = current else from = current + 1
      run.read(current, row)
    }
    found
  }

  /** Says that the candidate found last is a match. */
  def take(): Unit = if (on) counter.take(currentBound)
}

/**
 * Counts the matches of a streamed row, which come in the order of their bounds, by rank.
 *
 * @param inverted whether points and bounds are the complements of what they stand for
 */
final class RankCounter(order: BestOrder, inverted: Boolean = false) {
  private[this] val limit = order.limit
  private[this] val keepsTies = order.keepsTies
  private[this] val countsTies = order.countsTies
  private[this] val slack = order.slack
  private[this] val hasClampedEnds = order.hasClampedEnds
  private[this] val rounding = order.rankPoint.flatMap(_.distance.rounding).orNull
  private[this] var ranks = 0
  private[this] var last = 0L
  private[this] var point = 0L

  /** Begins with another streamed row, whose candidates are compared with a point. */
  def clear(point: Long): Unit = {
    this.point = point
    ranks = 0
  }

  /** Whether a candidate of a bound, and all behind it, are not wanted. */
  def isBeyond(bound: Long): Boolean = ranks >= limit && {
    if (slack == 0) !(keepsTies || isAtEnd(bound)) || !ties(bound)
    else order.isBeyondSlack(bound, last)
  }

  /** Takes a match, which is not beyond. */
  def take(bound: Long): Unit =
    if (ranks < limit) {
      if (countsTies || ranks == 0 || !ties(bound)) ranks += 1
      last = bound
    }

  /** Beside open ends, and NULLs, different values may have one bound. */
  private def isAtEnd(bound: Long): Boolean = hasClampedEnds &&
    (bound >= RangeBound.BehindValues - 1 || bound <= ~(RangeBound.BehindValues - 1))

  private def ties(bound: Long): Boolean = bound == last || (rounding != null &&
    java.lang.Double.compare(distance(bound), distance(last)) == 0)

  private def distance(bound: Long): Double = rounding.distance(number(point), number(bound))

  private def number(encoded: Long): Double =
    OrderedLong.toDouble(if (inverted) ~encoded else encoded)
}

/** The point of a streamed row that its candidates are compared with. */
final class StreamedPoint(point: Expression) {
  private[this] val projection = UnsafeProjection.create(Seq(point))

  /** The point, or `RankPoint.Unknown`. */
  def apply(streamed: InternalRow): Long = {
    val row = projection(streamed)
    if (row.isNullAt(0)) RankPoint.Unknown else row.getLong(0)
  }
}
