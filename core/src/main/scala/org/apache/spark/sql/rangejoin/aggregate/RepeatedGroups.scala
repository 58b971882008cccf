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

package org.apache.spark.sql.rangejoin.aggregate

/**
 * Finds out whether groups repeat in rows, by a bit for each hash of a group. A row whose bit was set before is of a
 * group that came before, or shares the bit with another group. The share of bits that are set says how often the
 * latter happens.
 *
 * Takes 512 KiB.
 */
private[aggregate] final class RepeatedGroups {
  import RepeatedGroups._

  private[this] val bits = new Array[Long](Bits / 64)
  private[this] var bitsSet = 0
  // Of the rows that are looked at together, in the end `wanted`.
  private[this] var rows = 0
  private[this] var wanted = FirstRows
  private[this] var setBefore = 0
  private[this] var found = false

  /** Whether enough of the last rows belonged to groups seen before, so that merging them pays. */
  def repeat: Boolean = found

  def add(hash: Int): Unit = {
    val place = (hash >>> 6) & (bits.length - 1)
    val bit = 1L << hash
    if ((bits(place) & bit) == 0L) {
      bits(place) |= bit
      bitsSet += 1
    } else setBefore += 1
    rows += 1
    if (rows == wanted) decide()
  }

  private def decide(): Unit = {
    // The chance that a new group shares its bit.
    val shared = bitsSet.toDouble / Bits
    val repeated = (setBefore.toDouble / rows - shared) / (1 - shared)
    found = found || repeated > MostRepeated || shared > MostSet
    rows = 0
    setBefore = 0
    wanted = math.min(wanted * 2, MostRows)
  }
}

private[aggregate] object RepeatedGroups {
  private val Bits = 1 << 22

  /** Rows are looked at in as many at first, then in twice as many, up to the most. */
  private val FirstRows = 64
  private val MostRows = 4096

  /** To merge a row takes a third of what it takes to shuffle it and merge it there. */
  private val MostRepeated = 1.0 / 3

  /** Then the bits say little. */
  private val MostSet = 0.9
}
