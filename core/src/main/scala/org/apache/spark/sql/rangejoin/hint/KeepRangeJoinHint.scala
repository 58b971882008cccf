// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.hint

import org.apache.spark.sql.catalyst.optimizer.EliminateResolvedHint
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Makes a hint above `RANGE_JOIN` ask for a range join, too: `BROADCAST(v)`, where the view `v` has a `RANGE_JOIN`.
 * Spark merges the hints of one side of a join from the top down, and keeps the class of the first.
 */
object KeepRangeJoinHint extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case hint @ ResolvedHint(child, info) if !isRangeJoin(info) && asksBelow(child) =>
      hint.copy(hints = new RangeJoinHint(info.strategy))
  }

  private def asksBelow(plan: LogicalPlan): Boolean =
    EliminateResolvedHint.extractHintsFromPlan(plan)._2.exists(isRangeJoin)

  private def isRangeJoin(hint: HintInfo): Boolean = hint.isInstanceOf[RangeJoinHint]
}
