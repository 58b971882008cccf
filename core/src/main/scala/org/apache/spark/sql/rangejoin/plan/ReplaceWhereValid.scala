// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.reflect.ClassTag

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ValidateRequirements

/** Replaces nodes of a plan, unless an operator above needs the shuffle or the order of what would go. */
private[plan] object ReplaceWhereValid {

  /** @param replacement None to leave a node as it is */
  def apply[T <: SparkPlan: ClassTag](plan: SparkPlan)(
      replacement: T => Option[SparkPlan]): SparkPlan = {
    def nodes(plan: SparkPlan) = plan.collect { case node: T => node }
    // From the last one on: what goes with a node are others behind it.
    nodes(plan).indices.foldRight(plan) { (index, placed) =>
      val node = nodes(placed)(index)
      replacement(node)
        .map(replaced => placed.transformUp { case same if same.eq(node) => replaced })
        .filter(ValidateRequirements.validate)
        .getOrElse(placed)
    }
  }
}
