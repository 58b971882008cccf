// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.rangejoin.kernel.{OrderedLong, RangeBound}

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
