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

/** Counts the matches of a streamed row, which come in the order of their bounds, by rank. */
final class RankCounter(order: BestOrder) {
  private[this] val limit = order.limit
  private[this] val keepsTies = order.keepsTies
  private[this] val countsTies = order.countsTies
  private[this] val slack = order.slack
  private[this] var ranks = 0
  private[this] var last = 0L

  /** Begins with another streamed row. */
  def clear(): Unit = ranks = 0

  /** Whether a candidate of a bound, and all behind it, are not wanted. */
  def isBeyond(bound: Long): Boolean = ranks >= limit && {
    if (slack == 0) !keepsTies || bound != last
    else {
      val distance = math.abs(bound - last)
      // One that is not to be had in a long is a long one.
      distance > slack || distance < 0
    }
  }

  /** Takes a match, which is not beyond. */
  def take(bound: Long): Unit =
    if (ranks < limit) {
      if (countsTies || ranks == 0 || bound != last) ranks += 1
      last = bound
    }
}
