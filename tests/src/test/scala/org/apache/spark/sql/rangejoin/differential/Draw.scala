// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.differential

import java.util.SplittableRandom

/**
 * Choices, all drawn from one number.
 *
 * Not `java.util.Random`, whose first draws from neighbouring seeds are nearly the same.
 */
final class Draw(seed: Long) {
  private val random = new SplittableRandom(seed)

  /** From 0 until `end`. */
  def below(end: Int): Int = random.nextInt(end)

  def pick[T](choices: Seq[T]): T = choices(below(choices.size))

  def chance(percent: Int): Boolean = below(100) < percent

  def shuffle[T](elements: Seq[T]): Seq[T] =
    elements.map(e => (random.nextLong(), e)).sortBy(_._1).map(_._2)
}
