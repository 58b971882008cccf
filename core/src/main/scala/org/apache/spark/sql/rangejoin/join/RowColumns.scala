// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  BoundReference,
  Expression
}

/** Code for the columns of a row that is a variable. */
private[rangejoin] object RowColumns {

  /** The columns; each is read where its code is placed. */
  def of(ctx: CodegenContext, row: String, attributes: Seq[Attribute]): Seq[ExprCode] = {
    ctx.currentVars = null
    ctx.INPUT_ROW = row
    attributes.toIndexedSeq.zipWithIndex.map { case (attribute, i) =>
      BoundReference(i, attribute.dataType, attribute.nullable).genCode(ctx)
    }
  }

  /** The columns of a row that may be null, and then are NULL. */
  def orNull(ctx: CodegenContext, row: String, attributes: Seq[Attribute]): Seq[ExprCode] =
    attributes.zip(of(ctx, row, attributes)).map { case (attribute, column) =>
      val isNull = JavaCode.isNullVariable(ctx.freshName("isNull"))
      val value = JavaCode.variable(ctx.freshName("value"), attribute.dataType)
      val javaType = CodeGenerator.javaType(attribute.dataType)
      ExprCode(
        code"""
           |boolean $isNull = true;
           |$javaType $value = ${CodeGenerator.defaultValue(attribute.dataType)};
           |if ($row != null) {
           |  ${column.code}
           |  $isNull = ${column.isNull};
           |  $value = ${column.value};
           |}
         """.stripMargin,
        isNull,
        value
      )
    }

  /**
   * Gives every column a variable of its own: returns the declarations, and the columns. An expression such as the
   * negation of a variable could not be the parameter of a method.
   */
  def named(ctx: CodegenContext, columns: Seq[ExprCode]): (String, Seq[ExprCode]) = {
    val declarations = Seq.newBuilder[String]
    def nameOf(value: ExprValue, name: String): ExprValue = value match {
      case expression: SimpleExprValue =>
        val variable = JavaCode.variable(ctx.freshName(name), expression.javaType)
        declarations += s"${CodeGenerator.typeName(variable.javaType)} $variable = $expression;"
        variable
      case other => other
    }
    val named = columns.map { column =>
      if (column.code.nonEmpty) column
      else
        column.copy(isNull = nameOf(column.isNull, "isNull"), value = nameOf(column.value, "value"))
    }
    (declarations.result().mkString("\n"), named)
  }

  /** Code that reads the columns some expressions need; they count as read from then on. */
  def read(
      attributes: Seq[Attribute],
      columns: Seq[ExprCode],
      by: Iterable[Expression]
  ): String = {
    val needed = AttributeSet(by.flatMap(_.references))
    val code = attributes.zip(columns).collect {
      case (attribute, column) if needed.contains(attribute) =>
        val read = column.code.toString
        column.code = EmptyBlock
        read
    }
    code.mkString("\n")
  }
}
