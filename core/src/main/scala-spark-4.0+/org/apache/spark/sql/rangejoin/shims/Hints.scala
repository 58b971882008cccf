// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule

/** Hints, which extensions can have rules for. */
object Hints {
  def inject(extensions: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit = {
    extensions.injectHintResolutionRule(_ => rule)
    // A session with Hive support has no rules for hints but Spark's.
    extensions.injectResolutionRule(_ => rule)
  }

  /** The parameters of a hint. */
  def parameters(hint: UnresolvedHint): Seq[Expression] = hint.parameters
}
