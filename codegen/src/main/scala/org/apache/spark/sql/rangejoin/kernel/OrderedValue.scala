// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.rangejoin.shims.NullIntolerantExpression
import org.apache.spark.sql.types.{DataType, LongType}

/** The [[OrderedLong]] of a value, as an expression; NULL where the value is NULL. */
case class OrderedValue(child: Expression) extends UnaryExpression
    with NullIntolerantExpression {
  override def dataType: DataType = LongType

  override protected def nullSafeEval(input: Any): Any = OrderedLong.encode(input, child.dataType)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, value => OrderedLong.encodeCode(value, child.dataType))

  override def toString: String = child.toString

  override def sql: String = child.sql

  override protected def withNewChildInternal(newChild: Expression): OrderedValue =
    copy(child = newChild)
}
