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
 * the entries of a run of rows with
 *
 * {{{
 *   sortBound <= upper  AND  evictBound >= lower
 * }}}
 *
 * The first test ends the run early, by binary search. The second is answered by the greatest evict
 * bound of each block of 16 entries, of each block of 16 blocks, and so on: an array sorted by the
 * one end and augmented with the maximum of the other, as the interval tree of Cormen et al.
 * (Introduction to Algorithms, chapter 14.3), laid out implicitly as in cgranges (Li and Rong,
 * Bioinformatics 2021), with 16 children instead of two: half a byte per entry, and neighbours are
 * read in a row. From one match to the next the search climbs as many levels as the distance asks for
 * and descends again, so that `m` matches among `n` entries cost `O(log n + m (1 + log(n / m)))`,
 * however long the intervals are, and `O(log n + m)` where matches are neighbours.
 *
 * Immutable.
 *
 * @param sort sort bounds
 * @param evict evict bounds; null where there is no second test, or where they are the sort bounds
 * @param points whether both bounds of every row are the same, and both tests are made
 * @param byEvict the rows of each group in the order of their evict bounds, where these are ranks
 * @param maxima the maxima of `evict`, by level
 * @param mayBeUnknown whether any bound is at the extreme that also stands for an unknown one
 */
final class IndexBounds private (
    sort: Array[Long],
    evict: Array[Long],
    val points: Boolean,
    byEvict: Array[Int],
    maxima: Array[Array[Long]],
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

  /** The first entry of a run with a sort bound of at least `bound`, or its end. */
  def firstFrom(from: Int, end: Int, bound: Long): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (sort(middle) < bound) low = middle + 1 else high = middle
    }
    low
  }

  /** The first entry of a run with a sort bound above `bound`, or its end. */
  def firstBeyond(from: Int, end: Int, bound: Long): Int =
    if (bound == Long.MaxValue) end else firstFrom(from, end, bound + 1)

  /** Likewise, where it is likely to be near the beginning of the run. */
  def firstBeyondNear(from: Int, end: Int, bound: Long): Int = {
    var low = from
    var step = 1
    while (low < end && sort(low) <= bound) {
      low = if (end - low > step) low + step else end
      step = if (step < MaxStep) step << 1 else step
    }
    // The entry before the last step is still within the bound.
    firstBeyond(math.max(from, low - step), low, bound)
  }

  /** The next entry of a run with an evict bound of at least `lower`, or its end. */
  def nextReaching(from: Int, end: Int, lower: Long): Int = {
    var level = 0
    var i = from
    var values = evict
    while ((i.toLong << (level * BlockBits)) < end) {
      if (values(i) >= lower) {
        if (level == 0) return i
        level -= 1
        i <<= BlockBits
      } else {
        i += 1
        while ((i & (BlockSize - 1)) == 0 && level < maxima.length) {
          i >>= BlockBits
          level += 1
        }
      }
      values = if (level == 0) evict else maxima(level - 1)
    }
    end
  }

  def estimatedSize: Long = 8L *
    (sort.length + (if (evict == null) 0L else evict.length.toLong) + maxima.map(_.length).sum) +
    (if (byEvict == null) 0L else byEvict.length * 4L)
}

object IndexBounds {
  private val BlockBits = 4
  private val BlockSize = 1 << BlockBits
  private val MaxStep = 1 << 20

  /**
   * Of bounds in the order of the index.
   *
   * @param evict null where there is only one test, and for points
   * @param points whether the bounds are those of both tests
   * @param byEvict null where evict bounds are no ranks
   */
  def apply(
      sort: Array[Long],
      evict: Array[Long],
      points: Boolean,
      byEvict: Array[Int]
  ): IndexBounds = {
    val maxima = if (evict == null) Array.empty[Array[Long]] else maximaOf(evict)
    val ends = if (points) sort else evict
    val extreme = contains(sort, Long.MinValue) || (ends != null && contains(ends, Long.MaxValue))
    new IndexBounds(sort, evict, points, byEvict, maxima, extreme)
  }

  private def contains(bounds: Array[Long], bound: Long): Boolean = {
    var i = 0
    while (i < bounds.length && bounds(i) != bound) i += 1
    i < bounds.length
  }

  private def maximaOf(evict: Array[Long]): Array[Array[Long]] =
    Iterator.iterate(evict)(blockMaxima).drop(1).takeWhile(_.length > 1).toArray

  private def blockMaxima(values: Array[Long]): Array[Long] =
    if (values.length <= BlockSize) Array.empty
    else {
      val maxima = new Array[Long]((values.length + BlockSize - 1) >>> BlockBits)
      java.util.Arrays.fill(maxima, Long.MinValue)
      var i = 0
      while (i < values.length) {
        val block = i >>> BlockBits
        if (values(i) > maxima(block)) maxima(block) = values(i)
        i += 1
      }
      maxima
    }
}
