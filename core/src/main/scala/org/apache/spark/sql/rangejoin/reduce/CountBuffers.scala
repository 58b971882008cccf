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

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Buffers of counts alone. */
private[rangejoin] object CountBuffers {

  /** Whether all counts are one. */
  def areOne(counts: UnsafeRow): Boolean = {
    var i = 0
    while (i < counts.numFields && counts.getLong(i) == 1L) i += 1
    i == counts.numFields
  }

  /** Makes each count this number. */
  def fill(counts: UnsafeRow, number: Long): Unit = {
    var i = 0
    while (i < counts.numFields) {
      counts.setLong(i, number)
      i += 1
    }
  }

  /** Makes counts of one row those of as many equal ones. */
  def multiply(counts: UnsafeRow, times: Long): Unit = {
    var i = 0
    while (i < counts.numFields) {
      counts.setLong(i, counts.getLong(i) * times)
      i += 1
    }
  }
}
