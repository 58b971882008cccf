// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec

/**
 * What `max_by(value, order, k)` is ordered by, and `k`: these lines of Spark have no such function.
 */
object MaxByK {
  def unapply(function: AggregateFunction): Option[(Expression, Int)] = None
}

/**
 * What `min_by(value, order, k)` is ordered by, and `k`: these lines of Spark have no such function.
 */
object MinByK {
  def unapply(function: AggregateFunction): Option[(Expression, Int)] = None
}

/** Whether a broadcast hash join reads the parts of a skewed partition: it cannot be told here. */
object HashJoins {
  def isSkewed(join: BroadcastHashJoinExec): Boolean = false

  def skewed(join: BroadcastHashJoinExec, isSkewJoin: Boolean): BroadcastHashJoinExec = join
}
