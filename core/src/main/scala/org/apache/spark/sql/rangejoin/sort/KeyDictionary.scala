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

package org.apache.spark.sql.rangejoin.sort

import java.util.{HashMap => JHashMap}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.unsafe.types.UTF8String

/**
 * Longs in the order of a column of strings: an odd one for each string that is known, and an even
 * one for all strings in between.
 *
 * @param column the column, bound to the row
 * @param known the strings, in ascending order and without duplicates
 */
private[sort] final class KeyDictionary(expression: Expression, known: Array[UTF8String]) {
  private val codes = new JHashMap[UTF8String, java.lang.Long](known.length * 2)
  known.zipWithIndex.foreach { case (string, i) => codes.put(string, 2L * i + 1) }

  /** The longs, of which odd ones are one string. */
  val column: PrefixLayout.Column =
    PrefixLayout.Column(0L, 2L * known.length, PrefixLayout.OfOdd)

  /** The long of a row whose string is not NULL. */
  def codeOf(row: InternalRow): Long = {
    val string = expression.eval(row).asInstanceOf[UTF8String]
    val code = codes.get(string)
    if (code != null) code else 2L * placeOf(string)
  }

  /** How many of the known strings are less. */
  private def placeOf(string: UTF8String): Int = {
    var low = 0
    var high = known.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (known(middle).binaryCompare(string) < 0) low = middle + 1 else high = middle
    }
    low
  }
}

private[sort] object KeyDictionary {

  /** More strings are too many to expect that the first rows show most of them. */
  private val MostStrings = 256

  /** A dictionary of the strings in a sample; null where they are too many. */
  def of(expression: Expression, sample: Iterable[InternalRow]): KeyDictionary = {
    val strings = new java.util.TreeSet[UTF8String]((a, b) => a.binaryCompare(b))
    val rows = sample.iterator
    while (rows.hasNext && strings.size <= MostStrings) {
      val string = expression.eval(rows.next()).asInstanceOf[UTF8String]
      if (string != null && !strings.contains(string)) strings.add(string.copy())
    }
    if (strings.size > MostStrings) null
    else new KeyDictionary(expression, strings.toArray(Array.empty[UTF8String]))
  }
}
