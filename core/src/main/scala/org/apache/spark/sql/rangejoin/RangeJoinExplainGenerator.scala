// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.shims.ExplainProvider

/**
 * Adds to EXPLAIN, and to the plan in the SQL tab, which joins are range joins, and why the others are not: name this
 * class in `spark.sql.extendedExplainProviders`. Joins on equi keys alone are left out.
 */
class RangeJoinExplainGenerator extends ExplainProvider {

  override def title: String = "Range joins"

  override def generateExtendedInfo(plan: SparkPlan): String = {
    val reports = JoinReports.of(plan).filter(_.isOfInterest)
    if (reports.isEmpty) "No join of this plan has a condition beside its equi keys.\n"
    else {
      reports.zipWithIndex.map { case (report, i) => s"${i + 1}. ${report.text}\n" }.mkString
    }
  }
}
