// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.rangejoin.kernel.SortedBounds

/**
 * The bounds of the rows of an index, in its order: by group, and within a group by sort bound. Finds
 * the entries of a group with
 *
 * {{{
 *   sortBound <= upper  AND  evictBound >= lower
 * }}}
 *
 * The first test gives the end of a run, by binary search among the few entries that [[BoundPlaces]]
 * leave of a large group. The second is answered from that end on backwards, where the neighbours are,
 * by the greatest evict bound of each block of 16 entries, of each block of 16 blocks, and so on: an
 * array sorted by the one end and augmented with the maximum of the other, as the interval tree of
 * Cormen et al. (Introduction to Algorithms, chapter 14.3), laid out implicitly as in cgranges (Li and
 * Rong, Bioinformatics 2021), with 16 children instead of two.
 * From one match to the next the search climbs as many levels as the distance asks for and descends
 * again ([[EvictBounds]]). The greatest evict bound of a group up to an entry, or up to the end of its block,
 * tells when there is no further match, so that `m` matches among `n` entries cost
 * `O(log n + m (1 + log(n / m)))`, however long the intervals are, and `O(log n + m)` where matches are
 * neighbours. All maxima together take about one byte per entry; intervals whose ends rise with their
 * begins need none.
 *
 * Immutable.
 *
 * @param sort sort bounds
 * @param places of the sort bounds of each group; null for a group that is small
 * @param evict evict bounds; null where there is no second test, and for points
 * @param points whether both tests are made, and both bounds of every row are the same
 * @param mayBeUnknown whether any bound may be unknown
 */
private[index] final class IndexBounds private (
    sort: Array[Long],
    places: Array[BoundPlaces],
    val evict: EvictBounds,
    val points: Boolean,
    val mayBeUnknown: Boolean,
    smallest: Boolean,
    greatest: Boolean
) extends Serializable {
  import IndexBounds._

  /** Whether rows have to be looked for one by one, and are not a run. */
  def scattered: Boolean = evict != null

  /** Whether a bound of the row may be unknown. */
  def isUnknown(i: Int): Boolean = (smallest && sort(i) == Long.MinValue) ||
    (greatest && evictBound(i) == Long.MaxValue)

  def sortBound(i: Int): Long = sort(i)

  /** Where there is a second test. */
  def evictBound(i: Int): Long = if (points) sort(i) else evict(i)

  /** The first entry of a run within a group with a sort bound of at least `bound`, or its end. */
  def firstFrom(group: Int, from: Int, end: Int, bound: Long): Int = {
    var low = from
    var high = end
    val places = this.places(group)
    if (places != null) {
      low = math.max(low, places.first(bound))
      high = math.min(high, places.last(bound, end))
    }
    search(low, high, bound)
  }

  /** The first of these entries with a sort bound of at least `bound`, or `end`. */
  private def search(from: Int, end: Int, bound: Long): Int =
    SortedBounds.firstFrom(sort, from, end, bound)

  /** The first entry of a run with a sort bound above `bound`, or its end. */
  def firstBeyond(group: Int, from: Int, end: Int, bound: Long): Int =
    if (bound == Long.MaxValue) end else firstFrom(group, from, end, bound + 1)

  /** The entry of `firstBeyond`, found faster if it is near the beginning of the run. */
  def firstBeyondNear(from: Int, end: Int, bound: Long): Int =
    if (bound == Long.MaxValue) end
    else {
      var low = from
      var step = 1
      while (low < end && sort(low) <= bound) {
        low = if (end - low > step) low + step else end
        step = if (step < MaxStep) step << 1 else step
      }
      // The entry before the last step is still within the bound.
      search(math.max(from, low - step), low, bound + 1)
    }

  def estimatedSize: Long =
    sort.length * 8L + (if (evict == null) 0L else evict.estimatedSize) +
      places.length * 4L + places.iterator.filter(_ != null).map(_.estimatedSize).sum
}

private[index] object IndexBounds {
  private val MaxStep = 1 << 20

  /**
   * @param starts the first entry of each group, and the end of the last
   * @param smallest whether a sort bound may be unknown where it is the smallest long
   * @param greatest whether an evict bound may be, where it is the greatest
   */
  def apply(
      starts: Array[Int],
      sort: Array[Long],
      evict: EvictBounds,
      points: Boolean,
      smallest: Boolean,
      greatest: Boolean
  ): IndexBounds = {
    val places = Array.tabulate(starts.length - 1)(g => BoundPlaces(sort, starts(g), starts(g + 1)))
    val anyGreatest =
      greatest && (if (points) contains(sort, Long.MaxValue) else evict.contains(Long.MaxValue))
    val mayBeUnknown = anyGreatest || (smallest && contains(sort, Long.MinValue))
    new IndexBounds(sort, places, evict, points, mayBeUnknown, smallest, greatest)
  }

  def contains(bounds: Array[Long], bound: Long): Boolean = {
    var i = 0
    while (i < bounds.length && bounds(i) != bound) i += 1
    i < bounds.length
  }
}

/**
 * Where in a group that is sorted by bounds to look for one: the bounds between a least and a greatest
 * one are cut into parts of the same width, a quarter to a half as many as there are rows at most, and
 * the first entry of each part is known. A part with many entries is left to binary search, so that no
 * data are worse than without; where bounds are spread evenly, a search reads one or two cache lines
 * instead of one at each of its steps. The outermost entries, 1/64 at either end, are parts of their
 * own, so that a few bounds far away do not make all others one part.
 *
 * @param least the bound at which the first part begins
 * @param shift the width of a part, as a power of two
 * @param firsts the first entry of each part, and the first behind all of them
 * @param start the first entry of the group
 */
private[rangejoin] final class BoundPlaces(least: Long, shift: Int, firsts: Array[Int], start: Int)
    extends Serializable {

  /** An entry that is not behind the first one with a bound of at least `bound`. */
  def first(bound: Long): Int =
    if (bound < least) start else firsts(part(bound))

  /** An entry that is not before the first one with a bound above `bound`; `end` at the most. */
  def last(bound: Long, end: Int): Int =
    if (bound < least) firsts(0)
    else {
      val next = part(bound) + 1
      if (next < firsts.length) firsts(next) else end
    }

  /** The part of a bound that is not before the first one, or the number of parts. */
  private def part(bound: Long): Int =
    math.min((bound - least) >>> shift, firsts.length - 1L).toInt

  def estimatedSize: Long = BoundPlaces.ObjectBytes + firsts.length * 4L
}

private[rangejoin] object BoundPlaces {

  /** Fewer entries are a few cache lines anyway. */
  private final val LeastEntries = 64
  private final val OutermostBits = 6
  private final val ObjectBytes = 48L

  /**
   * The places of the sorted bounds of a group; null if they are too few, or all but a few are the same.
   *
   * @param leastEntries how many are not too few
   * @param finerBits by what power of two there are more parts than usual
   */
  def apply(
      bounds: Array[Long],
      start: Int,
      end: Int,
      leastEntries: Int = LeastEntries,
      finerBits: Int = 0): BoundPlaces = {
    val count = end - start
    val outermost = count >> OutermostBits
    if (count < leastEntries || bounds(start + outermost) == bounds(end - 1 - outermost)) null
    else {
      val least = bounds(start + outermost)
      // The difference of two longs has up to 64 bits, none of which is a sign; shifted, it has one.
      val span = bounds(end - 1 - outermost) - least
      val partBits = 30 - Integer.numberOfLeadingZeros(count) + finerBits
      val shift = math.max(1, 64 - java.lang.Long.numberOfLeadingZeros(span) - partBits)
      val parts = (span >>> shift).toInt + 1
      val firsts = new Array[Int](parts + 1)
      var part = 0
      var entry = start
      while (entry < end) {
        if (bounds(entry) >= least) {
          while (part <= math.min((bounds(entry) - least) >>> shift, parts.toLong)) {
            firsts(part) = entry
            part += 1
          }
        }
        entry += 1
      }
      while (part <= parts) {
        firsts(part) = end
        part += 1
      }
      new BoundPlaces(least, shift, firsts, start)
    }
  }
}
