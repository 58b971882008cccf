// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{
  CodeGenerator,
  CodegenContext,
  ExprCode,
  FalseLiteral
}
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  GenericInternalRow,
  LeafExpression
}
import org.apache.spark.sql.types.{BooleanType, DataType, StructField, StructType}

/**
 * The outcome of evaluating an expression, as a column that can be sent to where it is needed: a struct of whether it
 * raised, and its value. Never raises itself.
 */
case class Attempt(child: Expression) extends Guarded {

  override def children: Seq[Expression] = Seq(child)

  override def dataType: DataType = Attempt.typeOf(child)

  override def nullable: Boolean = false

  override def eval(input: InternalRow): Any =
    try new GenericInternalRow(Array[Any](false, child.eval(input)))
    catch {
      case e: Throwable =>
        Guarded.rethrowUnlessOfData(e)
        new GenericInternalRow(Array[Any](true, null))
    }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val fields = ctx.freshName("fields")
    val error = ctx.freshName("error")
    ev.copy(
      code = code"""
        |Object[] $fields = new Object[] {false, null};
        |try {
        |  ${value.code}
        |  if (!${value.isNull}) $fields[1] = ${value.value};
        |} catch (Throwable $error) {
        |  ${Guarded.rethrowUnlessOfDataCode(error)}
        |  $fields[0] = true;
        |}
        |InternalRow ${ev.value} = new ${classOf[GenericInternalRow].getName}($fields);
      """.stripMargin,
      isNull = FalseLiteral
    )
  }

  override def toString: String = s"attempt($child)"

  override def sql: String = s"attempt(${child.sql})"

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Attempt =
    copy(child = newChildren.head)
}

object Attempt {

  def typeOf(e: Expression): StructType = StructType(Seq(
    StructField("raised", BooleanType, nullable = false),
    StructField("value", e.dataType)))

  /** Raised instead of the error that was raised where the expression was evaluated. */
  object Failed extends RuntimeException("raised before", null, false, false)

  def raise(): Unit = throw Failed
}

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
