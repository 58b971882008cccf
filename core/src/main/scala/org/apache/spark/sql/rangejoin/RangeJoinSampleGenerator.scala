// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.explain.JoinReports

/**
 * As [[RangeJoinReportGenerator]], with an estimate of the pairs of each join, for which the inputs of the joins are
 * run.
 */
class RangeJoinSampleGenerator extends RangeJoinReportGenerator {

  override def generateExtendedInfo(plan: SparkPlan): String =
    JoinReports.jsonWithEstimates(plan) + "\n"
}
