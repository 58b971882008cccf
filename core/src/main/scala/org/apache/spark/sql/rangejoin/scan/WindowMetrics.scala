// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.rangejoin.window.RangeWindow

/** The metrics of a scan; tasks report them once, when they are done with the window. */
case class WindowMetrics(
    candidates: SQLMetric,
    evictedRows: SQLMetric,
    peakWindowRows: SQLMetric,
    peakMemory: SQLMetric,
    spillSize: SQLMetric,
    spilledRows: SQLMetric
) {

  def report(candidates: Long, evicted: Long, window: RangeWindow): Unit = {
    this.candidates += candidates
    evictedRows += evicted
    peakWindowRows += window.peakRows
    peakMemory += window.peakMemory
    spillSize += window.spillSize
    spilledRows += window.spilledRows
  }
}

object WindowMetrics {

  /**
   * The metrics a range join shows, by their names. Peaks are the sums over tasks, as everywhere in
   * Spark; candidates against output rows tells what the range saves.
   */
  def create(context: SparkContext): Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(context, "number of output rows"),
    "numCandidates" -> SQLMetrics.createMetric(context, "number of candidates examined"),
    "numEvictedRows" -> SQLMetrics.createMetric(context, "number of rows evicted"),
    "peakWindowRows" -> SQLMetrics.createMetric(context, "peak window rows"),
    "peakMemory" -> SQLMetrics.createSizeMetric(context, "peak memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(context, "spill size"),
    "spilledRows" -> SQLMetrics.createMetric(context, "number of rows spilled")
  )

  def of(metrics: Map[String, SQLMetric]): WindowMetrics = WindowMetrics(
    metrics("numCandidates"),
    metrics("numEvictedRows"),
    metrics("peakWindowRows"),
    metrics("peakMemory"),
    metrics("spillSize"),
    metrics("spilledRows")
  )
}
