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

package org.apache.spark.sql.rangejoin.reduce

/**
 * The ends by which intervals are counted: the matches of a streamed row are those that begin in time, less those that
 * end before it. So an interval that ends too early has to begin in time, which it does if it does not end before it
 * begins, and `lower <= upper + 1`.
 *
 * An interval that does end before it begins is in reach of no point, be its own end in the interval
 * (`lower = upper`) or not (`lower = upper + 1`). Where streamed rows are points of one of these kinds it counts as
 * one that ends where it begins, just before the first point that could meet it: it is taken away from when it is added.
 */
private[rangejoin] final class CountedEnds {
  import CountedEnds._

  // By how much the lower bound of a point is above its upper one.
  private[this] var ofPoints = NoPoints
  private[this] var anyInverted = false

  /** Begins with no intervals, and with the bounds of a streamed row that others are expected to be like. */
  def clear(lower: Long, upper: Long): Unit = {
    val above = lower - upper
    ofPoints = if (above == 0L || above == 1L) above else NoPoints
    anyInverted = false
  }

  /** Whether an interval can be counted. */
  def take(sortBound: Long, evictBound: Long): Boolean =
    sortBound <= evictBound || ofPoints != NoPoints

  /** The end that it is counted by. */
  def of(sortBound: Long, evictBound: Long): Long =
    if (sortBound <= evictBound) evictBound
    else {
      anyInverted = true
      sortBound - 1L + ofPoints
    }

  /** Whether the matches of a streamed row can be counted. */
  def areOf(lower: Long, upper: Long): Boolean =
    if (anyInverted) lower - upper == ofPoints else lower - 1L <= upper && lower != Long.MinValue
}

private object CountedEnds {
  private final val NoPoints = -1L
}
