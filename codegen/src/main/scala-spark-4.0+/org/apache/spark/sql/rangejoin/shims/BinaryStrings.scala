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

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** Strings that are ordered by their bytes: those whose collation has no other order. */
object BinaryStrings {

  /** Whether a column of strings may have an order of its own. */
  val haveCollations: Boolean = true

  /** Whether strings of this type are in the order of their bytes. */
  def isBinary(string: StringType): Boolean = string.supportsBinaryOrdering

  /** Compares bytes, as unsigned numbers. */
  def compare(a: UTF8String, b: UTF8String): Int = a.binaryCompare(b)
}
