// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The size of a plan as Spark estimates it; None of one with rows that have no size before the optimizer has run. */
private[rangejoin] object KnownSize {

  def of(plan: LogicalPlan): Option[BigInt] =
    try Some(plan.stats.sizeInBytes)
    catch { case _: UnsupportedOperationException => None }
}
