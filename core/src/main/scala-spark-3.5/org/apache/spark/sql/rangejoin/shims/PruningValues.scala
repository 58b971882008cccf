// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.execution.{
  SparkPlan,
  SubqueryAdaptiveBroadcastExec,
  SubqueryBroadcastExec
}

/** The values of a dynamic partition pruning filter. */
object PruningValues {

  /** They are taken from this broadcast. */
  def of(planned: SubqueryAdaptiveBroadcastExec, broadcast: SparkPlan): SubqueryBroadcastExec =
    SubqueryBroadcastExec(planned.name, planned.index, planned.buildKeys, broadcast)
}
