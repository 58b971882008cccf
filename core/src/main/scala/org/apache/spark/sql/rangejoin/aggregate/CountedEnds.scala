// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

/**
 * The ends by which intervals are counted: the matches of a streamed row are those that begin in
 * time, less those that end before it. So an interval that ends too early has to begin in time,
 * which it does if it is not inverted (does not end before it begins), and `lower <= upper + 1`.
 *
 * An inverted interval is in reach of no point, whether the intervals have both of their ends in
 * them (`lower = upper`), one (`lower = upper + 1`) or none (`lower = upper + 2`; an interval of a
 * single value is then in reach of none as well, and counts as inverted). If the streamed rows are
 * points of one of these kinds, an inverted interval gets an end just before the first point its
 * begin admits, so it is added and subtracted at once.
 */
private[rangejoin] final class CountedEnds {
  import CountedEnds._

  // By how much the lower bound of a point is above its upper one.
  private[this] var ofPoints = NoPoints
  private[this] var anyInverted = false

  /** Starts without intervals. The bounds are those of a typical streamed row. */
  def clear(lower: Long, upper: Long): Unit = {
    val above = lower - upper
    ofPoints =
      if (lower >= upper && above >= 0L && above <= MostOfPoints) above.toInt else NoPoints
    anyInverted = false
  }

  /** Whether an interval can be counted. */
  def take(sortBound: Long, evictBound: Long): Boolean =
    ofPoints != NoPoints || isProper(sortBound, evictBound)

  /** The end that it is counted by. */
  def of(sortBound: Long, evictBound: Long): Long =
    if (isProper(sortBound, evictBound)) evictBound
    else {
      anyInverted = true
      plus(sortBound, ofPoints - 1)
    }

  /** Whether the interval is not inverted, for streamed rows of this kind. */
  private def isProper(sortBound: Long, evictBound: Long): Boolean =
    plus(sortBound, most - 1) <= evictBound

  /** By how much the lower bound of a streamed row may exceed its upper bound at most. */
  def most: Int = math.max(1, ofPoints)

  /** Whether the matches of a streamed row can be counted. */
  def areOf(lower: Long, upper: Long): Boolean =
    if (anyInverted) lower >= upper && lower - upper == ofPoints
    else lower < Long.MinValue + most || lower - most <= upper
}

private object CountedEnds {
  private final val NoPoints = -1
  private final val MostOfPoints = 2L

  /** The greatest bound where the sum is greater. */
  private def plus(bound: Long, few: Int): Long =
    if (few > 0 && bound > Long.MaxValue - few) Long.MaxValue else bound + few
}
