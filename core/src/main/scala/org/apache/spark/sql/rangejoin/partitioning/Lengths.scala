// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.Arrays

/**
 * The lengths of rows of an owner, in cells, by their number of bits.
 *
 * @param longest by number of bits, the longest length, -1 where there is none
 */
case class Lengths(longest: Array[Int]) {
  def merge(other: Lengths): Lengths =
    Lengths(longest.zip(other.longest).map { case (a, b) => math.max(a, b) })
}

object Lengths {
  val Empty: Lengths = Lengths(Array.fill(33)(-1))

  /** Of points. */
  val Zero: Lengths = Lengths(0 +: Array.fill(32)(-1))

  /** Not known: every row may be as long as there are cells. */
  val Unbounded: Lengths = Lengths(Array.fill(33)(Int.MaxValue))

  /** Takes in the lengths of rows, one after the other. */
  final class Builder extends Serializable {

    /** As of [[Lengths]]; tasks send this, which any serializer takes. */
    val longest: Array[Int] = Empty.longest.clone()

    def add(length: Int): Unit = {
      val bits = BucketLayout.bitsOf(length)
      longest(bits) = math.max(longest(bits), length)
    }

    def merge(other: Builder): Unit =
      for (bits <- longest.indices) longest(bits) = math.max(longest(bits), other.longest(bits))

    def clear(): Unit = Arrays.fill(longest, -1)
  }
}
