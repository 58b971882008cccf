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

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateMode, PartialMerge}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.rangejoin.aggregate.{RestOfRowsExec, SkipPartialMergeExec}

/** An operator that only merges the buffers of aggregates, and its input. */
private[plan] object MergedBuffers {

  def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
    case SkipPartialMergeExec(merge)                            => unapply(merge)
    case merge: BaseAggregateExec if areOf(merge, PartialMerge) =>
      merge.children.head match {
        case RestOfRowsExec(rows) => Some(rows)
        case rows                 => Some(rows)
      }
    case _ => None
  }

  /** Whether there are functions, and all of this mode. */
  def areOf(aggregate: BaseAggregateExec, mode: AggregateMode): Boolean =
    aggregate.aggregateExpressions.nonEmpty && aggregate.aggregateExpressions.forall(_.mode == mode)
}
