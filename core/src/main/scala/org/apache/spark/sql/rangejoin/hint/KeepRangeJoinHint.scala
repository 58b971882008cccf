/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.hint

import org.apache.spark.sql.catalyst.optimizer.EliminateResolvedHint
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Spark puts the hints of one side of a join together from the top down, and keeps the kind of the first
 * one. A hint above a range join's is made one that asks for a range join, too: `BROADCAST(v)`, where the
 * view `v` has a `RANGE_JOIN`.
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
