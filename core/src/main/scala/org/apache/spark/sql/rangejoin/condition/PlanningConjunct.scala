// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Predicate
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.rangejoin.shims.EvaluatedInPlace

/** A conjunct that tells the planner something: true of every pair, and its operands are never evaluated. */
trait PlanningConjunct extends Predicate with EvaluatedInPlace {

  override def nullable: Boolean = false

  override def eval(input: InternalRow): Any = true

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    ExprCode(FalseLiteral, TrueLiteral)
}
