// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * Chooses, for each streamed row, between a search by one range and a search by two, from the measured cost of earlier
 * rows: it tries two ranges for a few rows, one range for a few, then takes the cheaper way for many rows, tries the
 * other way again, and so on. A trial stops once it has cost more than the other way did, or could at most, so a bad
 * way is never tried for long.
 */
private[index] final class ScanChoice {
  import ScanChoice._

  private[this] var bySecond = true
  private[this] var isTrial = true
  private[this] var rows = 0L
  private[this] var costBefore = 0L
  // Upper bound of what these rows would have cost by one range.
  private[this] var mostByOne = 0L
  private[this] var period = FirstPeriod
  // What a row has cost each way; of the way that was tried last.
  private[this] var costOfOne = Unknown
  private[this] var costOfTwo = Unknown

  /**
   * Whether the next row is to be searched by two ranges.
   *
   * @param cost of all rows so far
   * @param most what the next row costs at most by one range
   */
  def next(cost: Long, most: Long): Boolean = {
    if (rows > 0L && isOver(cost - costBefore)) {
      val costOfRow = (cost - costBefore).toDouble / rows
      if (bySecond) costOfTwo = costOfRow else costOfOne = costOfRow
      turn()
    }
    if (rows == 0L) {
      costBefore = cost
      mostByOne = 0L
    }
    rows += 1
    mostByOne += most
    bySecond
  }

  private def isOver(cost: Long): Boolean =
    if (isTrial)
      rows >= TriedRows || cost > TriedRows * costOfOther || (bySecond && cost > mostByOne)
    else rows >= period || (rows >= TriedRows && cost > rows * costOfOther * TimesCostlier)

  private def costOfOther: Double = if (bySecond) costOfOne else costOfTwo

  private def turn(): Unit = {
    rows = 0L
    if (costOfOne == Unknown) bySecond = false
    else if (isTrial) {
      isTrial = false
      bySecond = costOfTwo < costOfOne
    } else {
      // Tries the other way again: it may be cheaper by now.
      period = math.min(period * PeriodFactor, LongestPeriod)
      isTrial = true
      bySecond = !bySecond
    }
  }
}

private[index] object ScanChoice {

  /** Rows of a trial. */
  val TriedRows = 16

  /** A period ends early if its rows cost this many times what rows cost the other way. */
  private val TimesCostlier = 2

  /** Rows between the first two trials, each further time between trials, and the longest. */
  private val FirstPeriod = 4096L
  private val PeriodFactor = 2L
  private val LongestPeriod = 1L << 16

  private val Unknown = Double.PositiveInfinity
}
