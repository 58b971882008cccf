// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.reduce

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rows by their positions; the matches of a streamed row are a run of them. */
trait RunRows {

  /** Number of columns of a row. */
  def runFields: Int

  /** Rows before this position are not needed any more. */
  def firstOfRuns: Int

  /** Points `row` at a row, valid until the next call. */
  def readRun(position: Int, row: UnsafeRow): Unit
}
