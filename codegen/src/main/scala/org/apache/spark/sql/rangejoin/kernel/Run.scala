// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Rows by their positions, which are in the order of a bound: those of a window without holes, or of a group of an
 * index. The candidates of a streamed row, or its matches, are neighbours in it.
 */
trait Run {

  /** Points `row` at the row at a position, valid until the next call. */
  def read(position: Int, row: UnsafeRow): Unit

  /** The bound of the row at a position. */
  def bound(position: Int): Long

  /** The first of these positions with a bound of at least `bound`, or `end`. */
  def firstFrom(from: Int, end: Int, bound: Long): Int

  /** The last of these positions with a candidate of the current streamed row; before `from` if there is none. */
  def lastCandidate(from: Int, end: Int): Int
}
