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
