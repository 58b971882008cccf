// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.join.CandidateScanner

/** Rows by their positions; the matches of a streamed row are a run of them. */
trait RunRows {

  /** Number of columns of a row. */
  def runFields: Int

  /** Rows before this position are not needed any more. */
  def firstOfRuns: Int

  /** Points `row` at a row, valid until the next call. */
  def readRun(position: Int, row: UnsafeRow): Unit
}

/** A scanner of rows by their positions. */
trait RunScanner extends CandidateScanner {

  /**
   * Aggregates the candidates of the current streamed row and ends its scan, if all of them are matches by their bounds
   * and one run of rows; otherwise does nothing. Called before the first `nextCandidate`.
   *
   * @return the number of matches; -1 if they have to be visited one by one
   */
  def aggregateRun(runs: RunAggregates): Int
}
