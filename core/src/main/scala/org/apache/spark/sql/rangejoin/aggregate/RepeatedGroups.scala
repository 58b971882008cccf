// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

/**
 * Finds out whether groups repeat in rows, by a bit for each hash of a group. If the bit of a row was set before, its
 * group came before, or shares the bit with another group. The share of bits that are set tells how often the latter
 * happens.
 *
 * Takes 512 KiB.
 */
private[aggregate] final class RepeatedGroups {
  import RepeatedGroups._

  private[this] val bits = new Array[Long](Bits / 64)
  private[this] var bitsSet = 0
  // Rows of the current batch, up to `wanted`.
  private[this] var rows = 0
  private[this] var wanted = FirstRows
  private[this] var setBefore = 0
  private[this] var found = false

  /** Whether enough of the last rows belonged to groups seen before, so that merging them pays. */
  def repeat: Boolean = found

  def add(hash: Int): Unit = {
    val word = (hash >>> 6) & (bits.length - 1)
    val bit = 1L << hash
    if ((bits(word) & bit) == 0L) {
      bits(word) |= bit
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

  /** Sizes of batches: the first one, doubled each time up to the largest. */
  private val FirstRows = 64
  private val MostRows = 4096

  /** Merging a row costs a third of shuffling it and merging it there. */
  private val MostRepeated = 1.0 / 3

  /** Beyond this share of set bits the bits tell little. */
  private val MostSet = 0.9
}
