// SPDX-License-Identifier: Apache-2.0

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
