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
