// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  LeafExpression,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.kernel.ClassGenerator
import org.apache.spark.sql.types.DataType

/** Generates an aggregator whose buffer is fields of the class. */
object GenerateMatchAggregator
    extends ClassGenerator[MatchAggregation, MatchAggregator](classOf[MatchAggregator]) {

  /** Handed to the methods that long code is split into, which read fields alone. */
  private val NoRow = "noRow"

  override protected def methods(ctx: CodegenContext, aggregation: MatchAggregation): String = {
    val fields = aggregation.types.map(new Field(ctx, _))
    val clear = aggregation.initial.zip(fields).map { case (value, field) =>
      field.set(value.genCode(ctx))
    }
    val update = functionsOf(ctx, "update", fields, aggregation.update)
    val merge = functionsOf(ctx, "merge", fields, aggregation.merge)
    ctx.INPUT_ROW = NoRow
    val row = GenerateUnsafeProjection.createCode(ctx, fields.map(_.column))
    s"""
       |public void clear() {
       |  ${clear.mkString("\n")}
       |}
       |
       |public void update(InternalRow row) {
       |  ${update.mkString("\n")}
       |}
       |
       |public void merge(InternalRow row) {
       |  ${merge.mkString("\n")}
       |}
       |
       |public ${classOf[UnsafeRow].getName} result() {
       |  InternalRow $NoRow = null;
       |  ${row.code}
       |  return ${row.value};
       |}
     """.stripMargin
  }

  /** A method for each function, whose columns change when all of them are evaluated; calls of them. */
  private def functionsOf(
      ctx: CodegenContext,
      name: String,
      fields: Seq[Field],
      functions: Seq[Seq[Expression]]): Seq[String] = {
    var first = 0
    functions.map { columns =>
      ctx.INPUT_ROW = "row"
      ctx.currentVars = null
      val values = columns.map(ofFields(_, fields).genCode(ctx))
      val changes = values.zip(fields.slice(first, first + values.size)).map {
        case (value, field) => field.assign(value)
      }
      first += values.size
      val method = ctx.freshName(name)
      val called = ctx.addNewFunction(
        method,
        s"""
           |private void $method(InternalRow row) {
           |  ${values.map(_.code).mkString("\n")}
           |  ${changes.mkString("\n")}
           |}
         """.stripMargin
      )
      s"$called(row);"
    }
  }

  /** Columns of the buffer are fields, and others of the row alone. */
  private def ofFields(value: Expression, fields: Seq[Field]): Expression = value.transform {
    case BoundReference(ordinal, _, _) if ordinal < fields.size => fields(ordinal).column
    case reference: BoundReference => reference.copy(ordinal = reference.ordinal - fields.size)
  }

  /** A column of the buffer. */
  private final class Field(ctx: CodegenContext, dataType: DataType) {
    private val isNull = ctx.addMutableState(
      CodeGenerator.JAVA_BOOLEAN,
      "bufferIsNull",
      forceInline = true)
    private val value = ctx.addMutableState(
      CodeGenerator.javaType(dataType),
      "bufferValue",
      forceInline = true)

    val column: Expression = BufferColumn(dataType)(
      ExprCode(EmptyBlock, JavaCode.isNullGlobal(isNull), JavaCode.global(value, dataType)))

    def set(code: ExprCode): String = s"${code.code}\n${assign(code)}"

    def assign(code: ExprCode): String = s"$isNull = ${code.isNull}; $value = ${code.value};"
  }
}

/** A column of a buffer that is fields of a class. */
private case class BufferColumn(dataType: DataType)(code: ExprCode)
    extends LeafExpression {

  override def nullable: Boolean = true

  override def eval(row: InternalRow): Any =
    throw new IllegalStateException("a column of generated code is not interpreted")

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(code)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = code
}
