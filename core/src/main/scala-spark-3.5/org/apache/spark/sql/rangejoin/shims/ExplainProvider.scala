// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.execution.SparkPlan

/** Extends EXPLAIN. Spark 3.5 has no such extension point, so only our own code calls it. */
trait ExplainProvider {
  def title: String

  def generateExtendedInfo(plan: SparkPlan): String
}
