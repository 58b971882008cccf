/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.index

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
 * again. The greatest evict bound of a group up to the end of each block tells when there is no
 * further match, so that `m` matches among `n` entries cost `O(log n + m (1 + log(n / m)))`, however
 * long the intervals are, and `O(log n + m)` where matches are neighbours. All maxima together take
 * about one byte per entry.
 *
 * Immutable.
 *
 * @param sort sort bounds
 * @param evict evict bounds; null where there is no second test, or where they are the sort bounds
 * @param points whether both bounds of every row are the same, and both tests are made
 * @param byEvict the rows of each group in the order of their evict bounds, where these are ranks
 * @param places of the sort bounds of each group; null for a group that is small
 * @param maxima the maxima of `evict`, by level
 * @param reached by block: the greatest of `evict` in the group of the block's last entry, up to it
 * @param mayBeUnknown whether any bound is at the extreme that also stands for an unknown one
 */
final class IndexBounds private (
    sort: Array[Long],
    evict: Array[Long],
    val points: Boolean,
    byEvict: Array[Int],
    places: Array[BoundPlaces],
    maxima: Array[Array[Long]],
    reached: Array[Long],
    val mayBeUnknown: Boolean
) extends Serializable {
  import IndexBounds._

  /** Whether rows have to be looked for one by one, and are not a run. */
  def scattered: Boolean = evict != null

  /** The row at a place in the order of evict bounds. */
  def rowByEvict(place: Int): Int = byEvict(place)

  /** The rank of the row at a place in the order of evict bounds; the greatest beyond the end. */
  def rankByEvict(place: Int, end: Int): Long =
    if (place < end) evict(byEvict(place)) else Long.MaxValue

  /** The first place of a group, in the order of evict bounds, of a bound that may be unknown. */
  def firstUnknownByEvict(from: Int, end: Int): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (evict(byEvict(middle)) < Long.MaxValue) low = middle + 1 else high = middle
    }
    low
  }

  /** Whether a bound of the row may be unknown. */
  def isExtreme(i: Int): Boolean =
    sort(i) == Long.MinValue ||
      (if (evict != null) evict(i) == Long.MaxValue else points && sort(i) == Long.MaxValue)

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
  private def search(from: Int, end: Int, bound: Long): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (sort(middle) < bound) low = middle + 1 else high = middle
    }
    low
  }

  /** The first entry of a run with a sort bound above `bound`, or its end. */
  def firstBeyond(group: Int, from: Int, end: Int, bound: Long): Int =
    if (bound == Long.MaxValue) end else firstFrom(group, from, end, bound + 1)

  /** Likewise, where it is likely to be near the beginning of the run. */
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

  /**
   * The last entry of a run with an evict bound of at least `lower`, or -1.
   *
   * @param from the first entry of the group, which is the first of the run
   * @param end behind the last entry of the run
   */
  def lastReaching(from: Int, end: Int, lower: Long): Int = {
    var i = end - 1
    while (i >= from) {
      if ((i & BlockMask) == BlockMask) {
        val block = i >>> BlockBits
        if (reached(block) < lower) return -1
        i = (lastBlockReaching(block, lower) << BlockBits) | BlockMask
      }
      if (evict(i) >= lower) return i
      i -= 1
    }
    -1
  }

  /**
   * The last block with a maximum of at least `lower`, of those up to `block`, which is complete. There
   * has to be one. So there are blocks to the left while the maximum is less, and those above them are
   * complete as they are.
   */
  private def lastBlockReaching(block: Int, lower: Long): Int = {
    var level = 0
    var i = block
    while (level > 0 || maxima(0)(i) < lower) {
      if (maxima(level)(i) >= lower) {
        level -= 1
        i = (i << BlockBits) | BlockMask
      } else {
        i -= 1
        if ((i & BlockMask) == BlockMask && level + 1 < maxima.length) {
          i >>>= BlockBits
          level += 1
        }
      }
    }
    i
  }

  def estimatedSize: Long = {
    val ofEvict = if (evict == null) 0L else evict.length + reached.length.toLong
    val longs = sort.length + ofEvict + maxima.map(_.length.toLong).sum
    val ints = places.length + (if (byEvict == null) 0L else byEvict.length.toLong)
    longs * 8L + ints * 4L + places.iterator.filter(_ != null).map(_.estimatedSize).sum
  }
}

object IndexBounds {
  private final val BlockBits = 4
  private final val BlockMask = (1 << BlockBits) - 1
  private val MaxStep = 1 << 20

  /**
   * Of bounds in the order of the index.
   *
   * @param starts the first entry of each group, and the end of the last
   * @param evict null where there is only one test, and for points
   * @param points whether the bounds are those of both tests
   * @param byEvict null where evict bounds are no ranks
   */
  def apply(
      starts: Array[Int],
      sort: Array[Long],
      evict: Array[Long],
      points: Boolean,
      byEvict: Array[Int]
  ): IndexBounds = {
    val places = Array.tabulate(starts.length - 1)(g => BoundPlaces(sort, starts(g), starts(g + 1)))
    val maxima = if (evict == null) Array.empty[Array[Long]] else maximaOf(evict)
    val ends = if (points) sort else evict
    val extreme = contains(sort, Long.MinValue) || (ends != null && contains(ends, Long.MaxValue))
    val reached = if (evict == null) null else reachedUntil(evict, starts)
    new IndexBounds(sort, evict, points, byEvict, places, maxima, reached, extreme)
  }

  private def contains(bounds: Array[Long], bound: Long): Boolean = {
    var i = 0
    while (i < bounds.length && bounds(i) != bound) i += 1
    i < bounds.length
  }

  private def maximaOf(evict: Array[Long]): Array[Array[Long]] =
    Iterator.iterate(evict)(blockMaxima).drop(1).takeWhile(_.nonEmpty).toArray

  /** The maxima of blocks; only of complete ones, since a search enters others from their end. */
  private def blockMaxima(values: Array[Long]): Array[Long] = {
    val maxima = new Array[Long](values.length >>> BlockBits)
    java.util.Arrays.fill(maxima, Long.MinValue)
    var i = 0
    while (i < (maxima.length << BlockBits)) {
      val block = i >>> BlockBits
      if (values(i) > maxima(block)) maxima(block) = values(i)
      i += 1
    }
    maxima
  }

  private def reachedUntil(evict: Array[Long], starts: Array[Int]): Array[Long] = {
    val reached = new Array[Long](evict.length >>> BlockBits)
    var group = 0
    while (group < starts.length - 1) {
      var greatest = Long.MinValue
      var i = starts(group)
      while (i < starts(group + 1)) {
        if (evict(i) > greatest) greatest = evict(i)
        if ((i & BlockMask) == BlockMask) reached(i >>> BlockBits) = greatest
        i += 1
      }
      group += 1
    }
    reached
  }
}
