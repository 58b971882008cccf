// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

/** The search of bounds that rise. */
object SortedBounds {

  /** The first of these with a value of at least `bound`, or `end`. */
  def firstFrom(bounds: Array[Long], from: Int, end: Int, bound: Long): Int = {
    var low = from
    var high = end
    while (low < high) {
      val middle = (low + high) >>> 1
      if (bounds(middle) < bound) low = middle + 1 else high = middle
    }
    low
  }

  /** The first of these with a value above `bound`, or `end`. */
  def firstBeyond(bounds: Array[Long], from: Int, end: Int, bound: Long): Int =
    if (bound == Long.MaxValue) end else firstFrom(bounds, from, end, bound + 1)
}
