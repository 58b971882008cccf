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

/** How arrays grow while their final size is not known. */
private[index] object Growth {

  /** The greatest array a JVM gives. */
  private val Most = Int.MaxValue - 15

  /** A length of at least `needed`, twice the present one where there is room. */
  def larger(present: Int, needed: Int): Int = {
    if (needed > Most) throw new OutOfMemoryError(s"an array of $needed elements in a range index")
    math.max(needed, math.min(present * 2L, Most.toLong).toInt)
  }
}

/** An array of longs that grows. */
private[index] final class LongBuffer(expected: Int) {
  private[this] var values = new Array[Long](math.max(expected, 16))
  private[this] var count = 0

  def +=(value: Long): Unit = {
    if (count == values.length) {
      values = java.util.Arrays.copyOf(values, Growth.larger(count, count + 1))
    }
    values(count) = value
    count += 1
  }

  def apply(i: Int): Long = values(i)

  def size: Int = count

  def toArray: Array[Long] = java.util.Arrays.copyOf(values, count)
}

/** An array of ints that grows. */
private[index] final class IntBuffer(expected: Int) {
  private[this] var values = new Array[Int](math.max(expected, 16))
  private[this] var count = 0

  def +=(value: Int): Unit = {
    if (count == values.length) {
      values = java.util.Arrays.copyOf(values, Growth.larger(count, count + 1))
    }
    values(count) = value
    count += 1
  }

  def apply(i: Int): Int = values(i)

  def size: Int = count

  def toArray: Array[Int] = java.util.Arrays.copyOf(values, count)
}
