// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.rangejoin.kernel.SortedBounds

/**
 * The evict bounds of the rows of an index, in the order of their sort bounds, where the two are not
 * the same: finds the rows of a run that reach up to a lower bound, from the end of the run. Immutable.
 *
 * Where bounds never fall within a group, as those of disjoint ranges and of ranges of one length do not, the rows that
 * reach are the last ones of a run: the search ends at the first one that does not reach. Elsewhere a bit for each row
 * tells whether it reaches as far as every row before it, so that the search ends there if it does not reach far
 * enough. Above the bounds are the maxima of blocks of 16, of blocks of 16 blocks, and so on, so that a search passes
 * over what does not reach far enough.
 *
 * @param bounds of the rows, or their ranks within the group
 * @param byRank the rows of each group in the order of their bounds; null where these are no ranks
 * @param farthest a bit for each row: whether none before it in its group reaches farther. Null where
 *   that is so of all rows, and then there are no maxima
 * @param maxima of `bounds`, by level
 * @param reached by block: the greatest bound in the group of the block's last entry, up to it
 */
private[index] final class EvictBounds private (
    bounds: Array[Long],
    byRank: Array[Int],
    farthest: Array[Long],
    maxima: Array[Array[Long]],
    reached: Array[Long]
) extends Serializable {
  import EvictBounds._

  def apply(i: Int): Long = bounds(i)

  def contains(bound: Long): Boolean = IndexBounds.contains(bounds, bound)

  /** The row at a position in the order of evict bounds. */
  def rowByRank(position: Int): Int = byRank(position)

  /** The rank of the row at a position in the order of evict bounds; the greatest beyond the end. */
  def rankAt(position: Int, end: Int): Long =
    if (position < end) bounds(byRank(position)) else Long.MaxValue

  /** The first position of a group, in the order of evict bounds, of a bound that may be unknown. */
  def firstUnknown(from: Int, end: Int): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (bounds(byRank(middle)) < Long.MaxValue) low = middle + 1 else high = middle
    }
    low
  }

  /**
   * The last entry of a run with an evict bound of at least `lower`, or -1.
   *
   * @param from the first entry of the group, which is the first of the run
   * @param end behind the last entry of the run
   */
  def lastReaching(from: Int, end: Int, lower: Long): Int =
    if (farthest != null) lastAmongOthers(from, end, lower)
    else if (end > from && bounds(end - 1) >= lower) end - 1
    else -1

  /** Whether bounds never fall within a group. */
  def rises: Boolean = farthest == null

  /** The first entry of a run, or its end, with a bound of at least `lower`, where bounds rise. */
  def firstReaching(from: Int, end: Int, lower: Long): Int =
    SortedBounds.firstFrom(bounds, from, end, lower)

  private def lastAmongOthers(from: Int, end: Int, lower: Long): Int = {
    var i = end - 1
    while (i >= from) {
      if ((i & BlockMask) == BlockMask) {
        val block = i >>> BlockBits
        if (reached(block) < lower) return -1
        i = (lastBlockReaching(block, lower) << BlockBits) | BlockMask
      }
      if (bounds(i) >= lower) return i
      if (isFarthest(i)) return -1
      i -= 1
    }
    -1
  }

  private def isFarthest(i: Int): Boolean = (farthest(i >>> 6) & (1L << i)) != 0L

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
    val longs = bounds.length.toLong +
      (if (farthest == null) 0L
       else farthest.length + reached.length.toLong + maxima.map(_.length.toLong).sum)
    longs * 8L + (if (byRank == null) 0L else byRank.length * 4L)
  }
}

private[index] object EvictBounds {
  private final val BlockBits = 4
  private final val BlockMask = (1 << BlockBits) - 1

  /**
   * For bounds in the order of the index.
   *
   * @param starts the first entry of each group, and the end of the last
   * @param byRank null where the bounds are no ranks
   */
  def apply(bounds: Array[Long], starts: Array[Int], byRank: Array[Int]): EvictBounds =
    if (rise(bounds, starts)) new EvictBounds(bounds, byRank, null, null, null)
    else {
      val farthest = new Array[Long]((bounds.length + 63) >>> 6)
      val reached = new Array[Long](bounds.length >>> BlockBits)
      fill(farthest, reached, bounds, starts)
      new EvictBounds(bounds, byRank, farthest, maximaOf(bounds), reached)
    }

  private def rise(bounds: Array[Long], starts: Array[Int]): Boolean = {
    var group = 0
    var rise = true
    while (rise && group < starts.length - 1) {
      var i = starts(group) + 1
      while (i < starts(group + 1) && bounds(i - 1) <= bounds(i)) i += 1
      rise = i >= starts(group + 1)
      group += 1
    }
    rise
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

  private def fill(
      farthest: Array[Long],
      reached: Array[Long],
      bounds: Array[Long],
      starts: Array[Int]
  ): Unit = {
    var group = 0
    while (group < starts.length - 1) {
      var greatest = Long.MinValue
      var i = starts(group)
      while (i < starts(group + 1)) {
        if (bounds(i) >= greatest) {
          greatest = bounds(i)
          farthest(i >>> 6) |= 1L << i
        }
        if ((i & BlockMask) == BlockMask) reached(i >>> BlockBits) = greatest
        i += 1
      }
      group += 1
    }
  }
}
