// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

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
