// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.guard.{Guard, Guarded}
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.shims.ExplainProvider

import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.compact

/**
 * Adds to EXPLAIN, and to the plan in the SQL tab, which joins are range joins, and why the others are not: name this
 * class in `spark.sql.extendedExplainProviders`. Joins on equi keys alone are left out.
 */
class RangeJoinExplainGenerator extends ExplainProvider {

  override def title: String = "Range joins"

  override def generateExtendedInfo(plan: SparkPlan): String = {
    val reports = Guarded.report(plan.session, "")(textOf(plan))
    reports + Guard.of(plan.session).switchedOff.map(_ + "\n").mkString
  }

  private def textOf(plan: SparkPlan): String = {
    val reports = JoinReports.of(plan).filter(_.isOfInterest)
    if (reports.isEmpty) "No join of this plan has a condition beside its equi keys.\n"
    else {
      reports.zipWithIndex.map { case (report, i) => s"${i + 1}. ${report.text}\n" }.mkString
    }
  }
}

/**
 * Adds a report on every join to EXPLAIN, for programs: one line of JSON. `rangejoin.explain` asks a Spark Connect
 * server for it.
 */
class RangeJoinReportGenerator extends ExplainProvider {

  override def title: String = "Range joins as JSON"

  override def generateExtendedInfo(plan: SparkPlan): String =
    Guarded.report(plan.session, "[]")(JoinReports.json(plan)) + "\n"
}

/**
 * As [[RangeJoinReportGenerator]], with an estimate of the pairs of each join, for which the inputs of the joins are
 * run.
 */
class RangeJoinSampleGenerator extends RangeJoinReportGenerator {

  override def generateExtendedInfo(plan: SparkPlan): String =
    Guarded.report(plan.session, "[]")(JoinReports.jsonWithEstimates(plan)) + "\n"
}

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
