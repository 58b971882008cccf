// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * The numbers of rows ([[ExactColumns]]), one row's behind the other's, as far as they can be added up in
 * any order without overflow.
 */
private[rangejoin] final class RowNumbers(runs: RunAggregates) {

  /** How many numbers a row has. */
  val width: Int = runs.exact.width
  private[this] val most = runs.exact.most
  private[this] val absolute = new Array[Long](width)

  /** The numbers of the row that was read last. */
  val last: Array[Long] = new Array[Long](width)

  /** Begins with no rows. */
  def clear(): Unit = java.util.Arrays.fill(absolute, 0L)

  /** Reads the numbers of a row; false where it raises an error, or they are not to be added to those before. */
  def read(row: UnsafeRow): Boolean =
    runs.aggregateRow(row) && runs.exact.read(runs.result, last) && fits()

  private def fits(): Boolean = {
    var i = 0
    var fits = true
    while (i < width) {
      absolute(i) += math.abs(last(i))
      // Below zero after an overflow: what is added is no less than zero but for the least number, which has no other.
      fits &&= last(i) != Long.MinValue && absolute(i) >= 0L && absolute(i) <= most(i)
      i += 1
    }
    fits
  }
}
