// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec

/** Whether a broadcast hash join reads the parts of a skewed partition: it cannot be told here. */
object HashJoins {
  def isSkewed(join: BroadcastHashJoinExec): Boolean = false

  def skewed(join: BroadcastHashJoinExec, isSkewJoin: Boolean): BroadcastHashJoinExec = join
}
