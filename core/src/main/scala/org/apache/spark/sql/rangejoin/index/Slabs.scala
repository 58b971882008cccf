// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.rangejoin.kernel.SortedBounds
import org.apache.spark.util.random.XORShiftRandom

/**
 * The rows of large groups once more, so that a search can leave out rows by a second range: in ''slabs'' by the sort
 * bound of the second range, and within a slab in the order of the index, which is that of the first range.
 *
 * {{{
 *   group ──▶ slabs from firstSlabs(group) until firstSlabs(group + 1)
 *   slab  ──▶ entries from starts(slab) until starts(slab + 1), each with the row that it stands for
 * }}}
 *
 * There are √(n / 8) slabs of n rows. A search goes through the slabs that the second range
 * meets, and in each finds the rows that the first range meets, as it would in a group of those rows alone. Example:
 * 10,000 boxes, 1 % wide and 1 % high, in 35 slabs by latitude. A point is in the longitudes of 100 of them, and
 * there are 4 of these in the one or two slabs that the point may be in.
 *
 * Immutable.
 *
 * @param second the bounds of the second range: a search by another one has no use of slabs
 * @param firstSlabs the first slab of each group, and the end of the last; groups that are small have none
 * @param least the least sort bound by the second range of each slab; rises within a group
 * @param reach the greatest evict bound by the second range of each slab
 * @param starts the first entry of each slab, and the end of the last
 * @param rows of the index, by entry
 * @param sort the sort bounds of these rows by the first range
 * @param evict their evict bounds
 */
private[index] final class Slabs private (
    val second: SecondBounds,
    firstSlabs: Array[Int],
    least: Array[Long],
    reach: EvictBounds,
    starts: Array[Int],
    rows: Array[Int],
    sort: Array[Long],
    evict: EvictBounds
) extends Serializable {

  def areOf(group: Int): Boolean = firstSlabs(group) < firstSlabs(group + 1)

  /** The first slab of a group. */
  def first(group: Int): Int = firstSlabs(group)

  /** Behind the last slab of a group with a row whose sort bound by the second range is at most `upper`. */
  def endOf(group: Int, upper: Long): Int =
    SortedBounds.firstBeyond(least, firstSlabs(group), firstSlabs(group + 1), upper)

  /** The last of these slabs with a row whose evict bound by the second range is at least `lower`, or -1. */
  def lastReaching(first: Int, end: Int, lower: Long): Int = reach.lastReaching(first, end, lower)

  def start(slab: Int): Int = starts(slab)

  /** Behind the last entry of a slab with a sort bound of at most `upper`. */
  def endIn(slab: Int, upper: Long): Int =
    SortedBounds.firstBeyond(sort, starts(slab), starts(slab + 1), upper)

  /** The last of these entries of a slab with an evict bound of at least `lower`, or -1. */
  def lastEntryReaching(start: Int, end: Int, lower: Long): Int =
    evict.lastReaching(start, end, lower)

  /** The row of an entry. */
  def row(entry: Int): Int = rows(entry)

  def estimatedSize: Long =
    firstSlabs.length * 4L + least.length * 8L + reach.estimatedSize + starts.length * 4L +
      rows.length * 4L + sort.length * 8L + evict.estimatedSize
}

private[index] object Slabs {

  /** Rows that are sampled for the boundaries of slabs, for each slab. */
  private val SampledOfSlab = 16

  /**
   * The slabs of an index with these rows, of which some group reaches the threshold of the second range.
   *
   * @param starts the first row of each group, and the end of the last
   * @param bounds by the first range, which has two ends
   */
  def apply(
      second: SecondBounds,
      starts: Array[Int],
      bounds: IndexBounds,
      rows: PackedRows,
      fields: Int): Slabs = {
    val layout = new Layout(second, starts, bounds, rows, fields)
    val sort = layout.rows.map(bounds.sortBound(_))
    val evict = if (bounds.points) sort else layout.rows.map(bounds.evictBound(_))
    new Slabs(
      second,
      layout.firstSlabs,
      layout.least,
      EvictBounds(layout.reach, layout.firstSlabs, null),
      layout.starts,
      layout.rows,
      sort,
      EvictBounds(evict, layout.starts, null)
    )
  }

  /** Which rows are in which slab. */
  private final class Layout(
      second: SecondBounds,
      groupStarts: Array[Int],
      bounds: IndexBounds,
      packed: PackedRows,
      fields: Int) {
    private val boundsOf = UnsafeProjection.create(Seq(second.sort, second.evict))
    private val packedRow = new UnsafeRow(fields)
    private val groups = groupStarts.length - 1
    private val secondSort = new Array[Long](packed.size)
    private val secondEvict = new Array[Long](packed.size)
    private val slabOfRow = new Array[Int](packed.size)

    val firstSlabs: Array[Int] = new Array(groups + 1)
    for (group <- 0 until groups)
      firstSlabs(group + 1) = firstSlabs(group) + deal(group, firstSlabs(group))
    private val slabs = firstSlabs(groups)

    val least: Array[Long] = Array.fill(slabs)(Long.MaxValue)
    val reach: Array[Long] = Array.fill(slabs)(Long.MinValue)
    val starts: Array[Int] = new Array(slabs + 1)
    eachRow { row =>
      val slab = slabOfRow(row)
      starts(slab + 1) += 1
      least(slab) = math.min(least(slab), secondSort(row))
      reach(slab) = math.max(reach(slab), secondEvict(row))
    }
    for (slab <- 0 until slabs) starts(slab + 1) += starts(slab)

    val rows: Array[Int] = new Array(starts(slabs))
    private val next = starts.clone()
    eachRow { row =>
      rows(next(slabOfRow(row))) = row
      next(slabOfRow(row)) += 1
    }

    /** Rows of groups that have slabs, in the order of the index. */
    private def eachRow(visit: Int => Unit): Unit = for (group <- 0 until groups) {
      if (firstSlabs(group) < firstSlabs(group + 1)) {
        var row = groupStarts(group)
        while (row < groupStarts(group + 1)) {
          visit(row)
          row += 1
        }
      }
    }

    /** Puts the rows of a group into slabs, none of which is empty; returns their number. */
    private def deal(group: Int, firstSlab: Int): Int = {
      val (from, end) = (groupStarts(group), groupStarts(group + 1))
      if (end - from < second.threshold) 0
      else {
        for (row <- from until end) readSecond(row)
        val slabs = math.sqrt((end - from) / SlabCursor.RowsOfSlab.toDouble).toInt
        val boundaries = boundariesOf(from, end, math.max(1, slabs))
        for (row <- from until end) slabOfRow(row) = slabOf(boundaries, secondSort(row))
        val numbers = new Array[Int](boundaries.length + 1)
        for (row <- from until end) numbers(slabOfRow(row)) = 1
        val used = numbers.sum
        var number = firstSlab
        for (slab <- numbers.indices) {
          val isUsed = numbers(slab)
          numbers(slab) = number
          number += isUsed
        }
        for (row <- from until end) slabOfRow(row) = numbers(slabOfRow(row))
        used
      }
    }

    /** The bounds of a row by the second range; without ends where it must not be left out. */
    private def readSecond(row: Int): Unit = {
      packed.read(row, packedRow)
      val found = boundsOf(packedRow)
      val isOpen = found.anyNull || bounds.isUnknown(row) ||
        second.unknown.inBuffered(found.getLong(0), found.getLong(1))
      secondSort(row) = if (isOpen) Long.MinValue else found.getLong(0)
      secondEvict(row) = if (isOpen) Long.MaxValue else found.getLong(1)
    }

    /** Quantiles of the sort bounds of these rows, for `slabs` slabs. */
    private def boundariesOf(from: Int, end: Int, slabs: Int): Array[Long] = {
      // One of each few rows, at random: classes of rows may alternate.
      val step = math.max(1, (end - from) / (slabs * SampledOfSlab))
      val random = new XORShiftRandom(slabs)
      val sampled = Array.range(from, end, step)
        .map(row => secondSort(math.min(row + random.nextInt(step), end - 1)))
      java.util.Arrays.sort(sampled)
      Array.tabulate(slabs - 1) { i =>
        sampled(((i + 1L) * sampled.length / slabs).toInt)
      }
    }

    /** The number of boundaries of at most `bound`. */
    private def slabOf(boundaries: Array[Long], bound: Long): Int =
      SortedBounds.firstBeyond(boundaries, 0, boundaries.length, bound)
  }
}

/**
 * The part of a cursor that searches by two ranges: goes through the slabs of a group that the second range meets.
 * Used as
 *
 * {{{
 *   if (isWanted(...)) {
 *     aim(...)                            // the second range
 *     begin(...)                          // the first one
 *     while ({ row = next(); row >= 0 }) ...
 *   }
 * }}}
 *
 * Rows of the index are returned in no order.
 */
private[index] final class SlabCursor(slabs: Slabs) {
  private[this] val choice = new ScanChoice

  // The second range, and the slabs that are left.
  private[this] var lowerSlab = 0L
  private[this] var upperSlab = 0L
  private[this] var firstSlab = 0
  private[this] var endSlab = 0

  // The first range, and the entries that are left in the current slab.
  private[this] var lower = 0L
  private[this] var upper = 0L
  private[this] var start = 0
  private[this] var end = 0

  // The cost of searches by slabs, beside the rows they visited, in rows.
  private[this] var extraCost = 0L

  /**
   * Whether the next row is to be searched by two ranges.
   *
   * @param rows the number of rows of the group
   * @param visited the number of rows that the cursor has visited so far, by one range or by two
   */
  def isWanted(group: Int, rows: Int, visited: Long): Boolean =
    slabs.areOf(group) && choice.next(visited + extraCost, rows.toLong)

  /** Takes the second range of the streamed row that is searched for next; false where it may be unknown. */
  def aim(lower: Long, upper: Long): Boolean = {
    lowerSlab = lower
    upperSlab = upper
    !slabs.second.unknown.inStreamed(lower, upper)
  }

  /** Begins a search by both ranges. */
  def begin(group: Int, lower: Long, upper: Long): Unit = {
    this.lower = lower
    this.upper = upper
    firstSlab = slabs.first(group)
    endSlab = slabs.endOf(group, upperSlab)
    start = 0
    end = 0
  }

  /** The next row of the index that may match, or -1. */
  def next(): Int = {
    var entry = slabs.lastEntryReaching(start, end, lower)
    while (entry < 0 && nextSlab()) entry = slabs.lastEntryReaching(start, end, lower)
    end = entry
    if (entry < 0) -1
    else {
      extraCost += SlabCursor.RowsOfRow
      slabs.row(entry)
    }
  }

  private def nextSlab(): Boolean = {
    val slab = slabs.lastReaching(firstSlab, endSlab, lowerSlab)
    if (slab >= 0) {
      endSlab = slab
      start = slabs.start(slab)
      end = slabs.endIn(slab, upper)
      extraCost += SlabCursor.RowsOfSlab
    }
    slab >= 0
  }
}

private[index] object SlabCursor {

  /** Extra cost of a row found by slabs, in rows that are adjacent in memory. */
  final val RowsOfRow = 2

  /** A search in a slab costs as much as this many rows. */
  final val RowsOfSlab = 8
}

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
