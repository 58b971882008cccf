// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{
  CommonExpressionRef,
  Expression,
  RuntimeReplaceable,
  With
}

/** An expression as it is evaluated, which the optimizer would make of it: `BETWEEN` is two comparisons. */
object ReplacedExpressions {
  def apply(e: Expression): Expression = e match {
    case replaceable: RuntimeReplaceable => apply(replaceable.replacement)
    case With(child, definitions)        =>
      val values = definitions.map(definition => definition.id -> definition.child).toMap
      apply(child.transform { case ref: CommonExpressionRef => values.getOrElse(ref.id, ref) })
    case other => other.mapChildren(apply)
  }
}
