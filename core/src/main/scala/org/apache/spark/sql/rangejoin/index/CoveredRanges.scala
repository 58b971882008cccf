// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * Where the ranges of the rows of an index are: a row whose sort bound and evict bound are the ends of
 * its range (in either order) has that in one of a few intervals, which do not meet. Between them no
 * row is.
 *
 * @param lows the first bound of each interval, ascending
 * @param highs the last one
 */
final class CoveredRanges private (lows: Array[Long], highs: Array[Long]) extends Serializable {

  /** First and last bound of each interval, ascending. */
  def intervals: Seq[(Long, Long)] = lows.toSeq.zip(highs)
}

private[index] object CoveredRanges {

  /** More of them would say more of the gaps, and make a longer filter. */
  private val MostIntervals = 16

  /** Maximum number of cells from first to last bound. A gap is seen if it is wider than one. */
  private val MostCells = 1 << 12

  private val Nowhere = new CoveredRanges(Array.emptyLongArray, Array.emptyLongArray)

  /** For rows with two bounds, each of which may be an extreme. */
  def ofTwo(size: Int, sort: Int => Long, evict: Int => Long): CoveredRanges =
    if (size == 0) Nowhere
    else new Cells(size, i => math.min(sort(i), evict(i)), i => math.max(sort(i), evict(i))).covered

  /** For rows with a sort bound alone: each is in range from there on. */
  def from(size: Int, sort: Int => Long): CoveredRanges =
    if (size == 0) Nowhere else new CoveredRanges(Array(least(size, sort)), Array(Long.MaxValue))

  /** For rows with an evict bound alone: each is in range up to there. */
  def until(size: Int, evict: Int => Long): CoveredRanges =
    if (size == 0) Nowhere
    else new CoveredRanges(Array(Long.MinValue), Array(greatest(size, evict)))

  private def least(size: Int, bound: Int => Long): Long = {
    var least = Long.MaxValue
    var i = 0
    while (i < size) {
      least = math.min(least, bound(i))
      i += 1
    }
    least
  }

  private def greatest(size: Int, bound: Int => Long): Long = ~least(size, ~bound(_))

  /** Cells of equal width from the first to the last bound, and which of them a range is in. */
  private final class Cells(size: Int, low: Int => Long, high: Int => Long) {
    private[this] val first = least(size, low)
    private[this] val last = greatest(size, high)

    // Widths are unsigned: from the least to the greatest long it is all 64 bits.
    private[this] val shift =
      math.max(0, 64 - java.lang.Long.numberOfLeadingZeros(last - first) - CellBits)
    private[this] val count = cellOf(last) + 1

    // How many more ranges begin in a cell than have ended before it; its least and its greatest bound.
    private[this] val begun = new Array[Int](count + 1)
    private[this] val leasts = Array.fill(count)(Long.MaxValue)
    private[this] val greatests = Array.fill(count)(Long.MinValue)
    fill()

    private def cellOf(bound: Long): Int = ((bound - first) >>> shift).toInt

    private def fill(): Unit = {
      var i = 0
      while (i < size) {
        val (from, to) = (cellOf(low(i)), cellOf(high(i)))
        begun(from) += 1
        begun(to + 1) -= 1
        leasts(from) = math.min(leasts(from), low(i))
        greatests(to) = math.max(greatests(to), high(i))
        i += 1
      }
    }

    def covered: CoveredRanges = {
      val found = runs
      // The widest gaps stay.
      val gaps = found.indices.drop(1)
        .sortBy(i => -unsigned(found(i)._1 - found(i - 1)._2))
        .take(MostIntervals - 1).sorted
      val begins = 0 +: gaps
      val ends = gaps :+ found.size
      new CoveredRanges(begins.map(found(_)._1).toArray, ends.map(end => found(end - 1)._2).toArray)
    }

    /** Least and greatest bound of neighbouring cells that ranges are in. */
    private def runs: IndexedSeq[(Long, Long)] = {
      val found = IndexedSeq.newBuilder[(Long, Long)]
      var open = 0
      var low = 0L
      var cell = 0
      while (cell < count) {
        val before = open
        open += begun(cell)
        if (before == 0 && open > 0) low = leasts(cell)
        if (open > 0 && open + begun(cell + 1) == 0) found += ((low, greatests(cell)))
        cell += 1
      }
      found.result()
    }

    private def unsigned(width: Long): Double =
      if (width >= 0) width.toDouble else width.toDouble + math.pow(2, 64)
  }

  private val CellBits = java.lang.Integer.numberOfTrailingZeros(MostCells)
}
