// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._

/** A predicate in the form `lesser <= greater`, or `<`. */
private[rangejoin] case class Comparison(
    lesser: Expression,
    greater: Expression,
    strict: Boolean,
    predicate: Expression
)

private[rangejoin] object Comparison {

  /** A predicate that is an inequality. */
  def of(predicate: Expression): Option[Comparison] = predicate match {
    case LessThanOrEqual(a, b)    => Some(Comparison(a, b, strict = false, predicate))
    case LessThan(a, b)           => Some(Comparison(a, b, strict = true, predicate))
    case GreaterThanOrEqual(a, b) => Some(Comparison(b, a, strict = false, predicate))
    case GreaterThan(a, b)        => Some(Comparison(b, a, strict = true, predicate))
    case _                        => None
  }
}
