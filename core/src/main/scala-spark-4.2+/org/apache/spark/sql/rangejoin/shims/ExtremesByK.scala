// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, MaxMinByK}

/** What `max_by(value, order, k)` is ordered by, and `k`. */
object MaxByK {
  def unapply(function: AggregateFunction): Option[(Expression, Int)] = function match {
    case best: MaxMinByK if !best.reverse => Some(best.orderingExpr -> best.k)
    case _                                => None
  }
}

/** What `min_by(value, order, k)` is ordered by, and `k`. */
object MinByK {
  def unapply(function: AggregateFunction): Option[(Expression, Int)] = function match {
    case best: MaxMinByK if best.reverse => Some(best.orderingExpr -> best.k)
    case _                               => None
  }
}
