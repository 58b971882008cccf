// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.sql.execution._

/** Limits at the end of a stage. */
private[skew] object StageLimits {

  /** Whether a stage ends in a limit that reads no more rows than it needs. */
  def isLimited(plan: SparkPlan): Boolean = plan match {
    case _: CollectLimitExec | _: CollectTailExec | _: LimitExec => true
    case node: OrderPreservingUnaryExecNode                      => isLimited(node.child)
    case union: UnionExec                                        => union.children.exists(isLimited)
    case _                                                       => false
  }
}
