// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeLike}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}

/** A sort or a shuffle for the operator above alone, and what is below it. */
private[plan] object Gathering {
  def unapply(plan: SparkPlan): Option[SparkPlan] = plan match {
    case SortExec(_, false, child, _)                                                 => Some(child)
    case shuffle: ShuffleExchangeLike if shuffle.shuffleOrigin == ENSURE_REQUIREMENTS =>
      Some(shuffle.child)
    case _ => None
  }
}
