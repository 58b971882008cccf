// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.rangejoin.join.CandidateScanner

/** A scanner whose candidates may be a run. */
trait RunScanner extends CandidateScanner {

  /**
   * Aggregates the candidates of the current streamed row and ends its scan, if all of them are matches by their bounds
   * and one run of rows; otherwise does nothing. Called before the first `nextCandidate`.
   *
   * @return the number of matches; -1 if they have to be visited one by one
   */
  def aggregateRun(runs: RunAggregates): Int
}
