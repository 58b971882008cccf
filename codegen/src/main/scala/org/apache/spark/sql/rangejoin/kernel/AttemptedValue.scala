// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, LeafExpression}
import org.apache.spark.sql.types.DataType

/**
 * The value of an expression that was evaluated before, as an [[Attempt]] in a column of the row. Raises if the
 * expression did, and so is used within a guard ([[RangeBound]], [[GuardedValue]]).
 *
 * @param expression what was evaluated; two values are equal only if this is
 */
case class AttemptedValue(ordinal: Int, expression: Expression) extends LeafExpression {
  private def column: BoundReference =
    BoundReference(ordinal, Attempt.typeOf(expression), nullable = true)

  override def dataType: DataType = expression.dataType

  override def nullable: Boolean = true

  override lazy val canonicalized: Expression = copy(expression = expression.canonicalized)

  override def eval(row: InternalRow): Any = {
    val attempt = column.eval(row).asInstanceOf[InternalRow]
    if (attempt != null && attempt.getBoolean(0)) Attempt.raise()
    if (attempt == null) null else attempt.get(1, dataType)
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val attempt = column.genCode(ctx)
    val javaType = CodeGenerator.javaType(dataType)
    val value = CodeGenerator.getValue(attempt.value.toString, dataType, "1")
    ev.copy(code = code"""
      |${attempt.code}
      |boolean ${ev.isNull} = ${attempt.isNull};
      |$javaType ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      |if (!${ev.isNull}) {
      |  if (${attempt.value}.getBoolean(0)) ${Attempt.getClass.getName.stripSuffix("$")}.raise();
      |  ${ev.isNull} = ${attempt.value}.isNullAt(1);
      |  if (!${ev.isNull}) ${ev.value} = $value;
      |}
    """.stripMargin)
  }

  override def toString: String = expression.toString
}
