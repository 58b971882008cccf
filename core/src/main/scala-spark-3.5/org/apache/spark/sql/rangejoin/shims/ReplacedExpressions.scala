// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{Expression, RuntimeReplaceable}

/** An expression as it is evaluated, which the optimizer would make of it. */
object ReplacedExpressions {
  def apply(e: Expression): Expression = e match {
    case replaceable: RuntimeReplaceable => apply(replaceable.replacement)
    case other                           => other.mapChildren(apply)
  }
}
