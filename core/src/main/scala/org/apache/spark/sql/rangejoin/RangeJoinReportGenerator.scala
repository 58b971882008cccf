// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.shims.ExplainProvider

/**
 * Adds a report on every join to EXPLAIN, for programs: one line of JSON. `rangejoin.explain` asks a Spark Connect
 * server for it.
 */
class RangeJoinReportGenerator extends ExplainProvider {

  override def title: String = "Range joins as JSON"

  override def generateExtendedInfo(plan: SparkPlan): String = JoinReports.json(plan) + "\n"
}
