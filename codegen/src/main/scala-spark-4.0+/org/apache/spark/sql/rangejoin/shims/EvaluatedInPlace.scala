// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{ConditionalExpression, Expression}

/** An expression none of whose children may be evaluated ahead of it. */
trait EvaluatedInPlace extends ConditionalExpression {
  override def alwaysEvaluatedInputs: Seq[Expression] = Nil

  override def withNewAlwaysEvaluatedInputs(inputs: Seq[Expression]): ConditionalExpression = this

  override def branchGroups: Seq[Seq[Expression]] = Nil
}
