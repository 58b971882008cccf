// SPDX-License-Identifier: Apache-2.0

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
