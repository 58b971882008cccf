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

import org.apache.spark.sql.rangejoin.kernel.SortedBounds

/**
 * The evict bounds of each group of an index, sorted: how many rows of a group have one below a lower bound.
 *
 * Where no row has its evict bound below its sort bound, as no interval has that ends before it begins, those rows
 * are all among the ones with a sort bound up to an upper bound, if that is not below the lower one. So
 * the number of matches is the difference of two ranks, however many they are and wherever they lie.
 */
private[index] final class EvictOrder private (sorted: Array[Long]) {

  /** The rows of a group with an evict bound below a lower bound. */
  def countBelow(from: Int, end: Int, lower: Long): Int = firstOf(from, end, lower) - from

  /** The place of the first row of a group with an evict bound, or of the next greater one. */
  def firstOf(from: Int, end: Int, evictBound: Long): Int =
    SortedBounds.firstFrom(sorted, from, end, evictBound)
}

private[index] object EvictOrder {

  /** Bytes for each row. */
  val Bytes = 8L

  /** None where a row has its evict bound below its sort bound. */
  def of(starts: Array[Int], bounds: IndexBounds): Option[EvictOrder] = {
    val sorted = new Array[Long](starts.last)
    var isProper = true
    var i = 0
    while (isProper && i < sorted.length) {
      sorted(i) = bounds.evict(i)
      isProper = bounds.sortBound(i) <= sorted(i)
      i += 1
    }
    if (isProper) {
      var group = 0
      while (group < starts.length - 1) {
        java.util.Arrays.sort(sorted, starts(group), starts(group + 1))
        group += 1
      }
      Some(new EvictOrder(sorted))
    } else None
  }
}
