// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.compact

/** The metrics of the range joins of a query, for callers outside the JVM. */
object RangeJoinMetrics extends AdaptiveSparkPlanHelper {

  /**
   * The metrics of each range join in the plan that was executed last, from the top of the plan: a JSON array of
   * objects, by the names of the metrics. If the matches of a join are aggregated, the metrics of that node are merged
   * in; `numOutputRows` then counts rows of aggregates.
   */
  def json(query: QueryExecution): String = {
    val aggregates = collect(query.executedPlan) { case node: AggregateMatchesExec => node }
    compact(collect(query.executedPlan) { case join: RangeJoinExec => join }.map { join =>
      val inPlace = aggregates.filter(_.isOf(join)).flatMap(_.metrics)
      (join.metrics ++ inPlace).toSeq.sortBy(_._1)
        .map { case (name, metric) => name -> metric.value }.toMap
    })
  }
}
