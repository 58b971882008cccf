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
