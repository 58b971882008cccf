// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.join.CandidateScanner

/**
 * Creates the iterator over the aggregated matches of streamed rows, in a task.
 *
 * @param grouping bound to the streamed row
 * @param ofStreamed functions of the streamed row, and of no column
 * @param ofBuffered functions of the buffered row
 * @param order the buffers in their order, bound to the streamed row and the buffers of either kind
 * @param residual bound to the streamed row followed by the buffered row
 * @param condition the columns of the streamed row that determine its matches
 * @param preservesStreamed whether a streamed row without a match is aggregated as if it had one match of NULLs
 */
final case class AggregatedMatchIteratorFactory(
    grouping: Seq[Expression],
    ofStreamed: MatchAggregation,
    ofBuffered: MatchAggregation,
    order: Seq[BoundReference],
    residual: Option[Expression],
    condition: Seq[Expression],
    preservesStreamed: Boolean,
    bufferedFields: Int,
    metrics: AggregatedMatchIteratorFactory.Metrics) {

  /** The rows of a scan: one for each streamed row that has a match, or is kept. */
  def rows(scanner: CandidateScanner): Iterator[InternalRow] =
    new AggregatedMatchIterator(scanner, this)
}

object AggregatedMatchIteratorFactory {

  /**
   * @param matches counts the pairs that were aggregated
   * @param pairs counts those that were visited one by one
   */
  final case class Metrics(rows: SQLMetric, matches: SQLMetric, pairs: SQLMetric)
}
