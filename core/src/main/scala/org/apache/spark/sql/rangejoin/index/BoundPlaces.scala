// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

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
