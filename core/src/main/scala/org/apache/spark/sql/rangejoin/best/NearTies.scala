// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.rangejoin.condition.Rounding
import org.apache.spark.sql.rangejoin.kernel.OrderedLong

/**
 * Which rows behind the last one wanted may still be as near to a point, by what they are ranked by: distances are
 * rounded, or off by a slack.
 *
 * Two numbers that have one rounded distance from a point differ by no more than the place of its last digit. The
 * greatest place is that of the longest distance.
 *
 * @param farthest how far from 0 a point is at most, where distances are rounded
 */
private[rangejoin] final class NearTies(order: BestOrder, farthest: Rounding => Double) {
  private[this] val rounding =
    order.rankPoint.flatMap(_.distance.rounding).filter(_ => order.keepsTies).orNull
  private[this] val most = if (rounding == null) 0.0 else farthest(rounding)

  /** Whether there may be such rows at all. */
  val areThere: Boolean = order.slack > 0 || rounding != null

  /** Whether a row that is behind the last one wanted is farther from any point. */
  def isBeyond(bound: Long, last: Long): Boolean =
    if (rounding == null) order.isBeyondSlack(bound, last)
    else isFarther(OrderedLong.toDouble(bound), OrderedLong.toDouble(last))

  private def isFarther(number: Double, last: Double): Boolean =
    // Two that are not finite have the same distance, or are in the order of their bounds.
    if (!isFinite(number)) isFinite(last) && isFinite(rounding.lastPlace(most + math.abs(last)))
    else math.abs(number - last) > 2 * rounding.lastPlace(most + math.abs(number))

  private def isFinite(number: Double): Boolean = math.abs(number) < Double.PositiveInfinity
}
