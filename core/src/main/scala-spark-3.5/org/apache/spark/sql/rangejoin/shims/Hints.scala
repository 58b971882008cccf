// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.{Column, SparkSessionExtensions}

/**
 * In Spark 3.5 extensions cannot add hint rules, so hints are resolved by an ordinary resolution rule.
 */
object Hints {
  def inject(extensions: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit =
    extensions.injectResolutionRule(_ => rule)

  /** The parameters, which are what `Dataset.hint` was given. */
  def parameters(hint: UnresolvedHint): Seq[Expression] = hint.parameters.map {
    case e: Expression  => e
    case column: Column => column.expr
    case value          => Try(Literal(value)).getOrElse(Literal(String.valueOf(value)))
  }
}
