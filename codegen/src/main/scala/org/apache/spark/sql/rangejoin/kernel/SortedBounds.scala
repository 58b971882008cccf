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
