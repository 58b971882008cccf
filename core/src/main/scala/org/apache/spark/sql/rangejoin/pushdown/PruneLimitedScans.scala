// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.Predicates

/**
 * The scans of files below the filters that [[InferRangeFilters]] has inferred are told of them, where a
 * scan can be trusted with that. Runs several times over the same plan.
 */
object PruneLimitedScans extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp { case filter: FilterExec =>
    val limits = Predicates.split(filter.condition).collect { case ImpliedLimit(limit) => limit }
    val child = PrunedScan.belowEach(filter.child, limits)
    if (child.eq(filter.child)) filter else filter.withNewChildren(Seq(child))
  }
}
