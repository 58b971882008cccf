// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.rangejoin.shims.NullIntolerantExpression
import org.apache.spark.sql.types.{DataType, LongType}
import org.apache.spark.unsafe.types.UTF8String

/** The long that is [[KeyCodes made]] for a value, which is a string or a long; NULL where the value is NULL. */
private[sort] case class KeyCode(child: Expression, codes: KeyCodes) extends UnaryExpression
    with NullIntolerantExpression {
  override def dataType: DataType = LongType

  override protected def nullSafeEval(input: Any): Any = codes match {
    case strings: StringCodes  => strings.codeOf(input.asInstanceOf[UTF8String])
    case longs: LongDictionary => longs.codeOf(input.asInstanceOf[Long])
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val ref = ctx.addReferenceObj("codes", codes)
    defineCodeGen(ctx, ev, value => s"$ref.codeOf($value)")
  }

  override protected def withNewChildInternal(newChild: Expression): KeyCode =
    copy(child = newChild)
}
