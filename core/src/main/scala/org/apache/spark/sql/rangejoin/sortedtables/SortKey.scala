// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The sort columns of the current row of a file, which outlive the row. */
private[sortedtables] abstract class SortKey {

  /** Reads the columns of the next row; false if they are less than the previous ones. */
  def moveTo(row: UnsafeRow): Boolean

  /** The first column, as a long, for a merge to compare; see [[SortKeys.areWhole]]. */
  def first: Long

  /** The second column, likewise. */
  def second: Long
}
