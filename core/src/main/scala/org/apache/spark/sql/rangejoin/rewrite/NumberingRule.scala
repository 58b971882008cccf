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

package org.apache.spark.sql.rangejoin.rewrite

import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE

/**
 * A rule that numbers rows. A number is not deterministic, and the optimizer does not inline a common table expression
 * that is not: one that is read several times would be computed and shuffled as a whole, whatever is read of it. So
 * these are inlined before rows are numbered.
 */
private[rewrite] trait NumberingRule extends Rule[LogicalPlan] {

  protected def isEnabled(plan: LogicalPlan): Boolean

  protected def rewrite(plan: LogicalPlan): LogicalPlan

  final override def apply(plan: LogicalPlan): LogicalPlan =
    if (!isEnabled(plan)) plan
    else {
      val rewritten = rewrite(plan)
      if (rewritten.fastEquals(plan) || !plan.containsPattern(CTE)) rewritten
      else rewrite(InlineCTE()(plan))
    }
}
