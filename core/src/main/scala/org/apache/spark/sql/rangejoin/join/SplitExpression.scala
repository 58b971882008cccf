// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/**
 * An expression whose code becomes a method of its own where it is long: more characters than
 * `spark.sql.codegen.methodSplitThreshold`.
 *
 * HotSpot never compiles a method of more than 8,000 bytes, and a class file takes none of 64 KB.
 * Spark splits the code of expressions that read a row, but not of those that read variables, as in
 * whole-stage code generation. The method takes the variables it reads as parameters; where they are
 * more than a method can have, the code stays where it is.
 *
 * Every variable has to be read, and to have a name (see [[RowColumns.read]], [[RowColumns.named]]).
 */
private[rangejoin] case class SplitExpression(child: Expression) extends UnaryExpression {

  override def dataType: DataType = child.dataType

  override def nullable: Boolean = child.nullable

  override def foldable: Boolean = child.foldable

  override def eval(input: InternalRow): Any = child.eval(input)

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val inline = child.genCode(ctx)
    if (ctx.currentVars == null || inline.code.length <= SQLConf.get.methodSplitThreshold) inline
    else SplitExpression.parameters(ctx, Seq(child)).fold(inline)(called(ctx, ev, inline, _))
  }

  private def called(
      ctx: CodegenContext,
      ev: ExprCode,
      body: ExprCode,
      parameters: Seq[VariableValue]
  ): ExprCode = {
    val javaType = CodeGenerator.javaType(dataType)
    val (setNull, readNull, isNull) = body.isNull match {
      case literal: LiteralValue => ("", "", literal)
      case local                 =>
        val flag = ctx.addMutableState(CodeGenerator.JAVA_BOOLEAN, "isNull")
        (s"$flag = $local;", s"boolean ${ev.isNull} = $flag;", ev.isNull)
    }
    val call = SplitExpression.define(ctx, javaType, "evaluate", parameters)(
      s"""
         |${body.code}
         |$setNull
         |return ${body.value};
       """.stripMargin)
    ExprCode(
      code"""
         |$javaType ${ev.value} = $call;
         |$readNull
       """.stripMargin,
      isNull,
      ev.value
    )
  }

  override def toString: String = child.toString

  override protected def withNewChildInternal(newChild: Expression): SplitExpression =
    copy(newChild)
}

private[rangejoin] object SplitExpression {

  /**
   * A predicate with the same results and errors, whose code is split into methods.
   *
   * Chains of AND and of OR become trees of little depth: both are associative, in their result and in what they
   * evaluate.
   */
  def split(predicate: Expression): Expression = predicate match {
    case _: And => balanced(operands(predicate) { case And(l, r) => (l, r) }.map(split), And(_, _))
    case _: Or  => balanced(operands(predicate) { case Or(l, r) => (l, r) }.map(split), Or(_, _))
    case leaf: LeafExpression                                => leaf
    case _: Not | _: BinaryComparison | _: BinaryArithmetic  => ofChildren(predicate)
    case _: If | _: CaseWhen | _: Coalesce | _: In | _: Cast => ofChildren(predicate)
    case other                                               => SplitExpression(other)
  }

  private def ofChildren(expression: Expression): Expression =
    SplitExpression(expression.mapChildren(split))

  private def operands(
      chain: Expression
  )(parts: PartialFunction[Expression, (Expression, Expression)]): IndexedSeq[Expression] = {
    val found = IndexedSeq.newBuilder[Expression]
    val left = mutable.Stack(chain)
    while (left.nonEmpty) {
      val next = left.pop()
      parts.lift(next) match {
        case Some((a, b)) => left.push(b).push(a)
        case None         => found += next
      }
    }
    found.result()
  }

  private def balanced(
      operands: IndexedSeq[Expression],
      join: (Expression, Expression) => Expression
  ): Expression =
    if (operands.size == 1) operands.head
    else {
      val (a, b) = operands.splitAt(operands.size / 2)
      SplitExpression(join(balanced(a, join), balanced(b, join)))
    }

  /** The variables that some expressions read; None where a method cannot have as many. */
  def parameters(ctx: CodegenContext, read: Seq[Expression]): Option[Seq[VariableValue]] = {
    val variables = read.flatMap(CodeGenerator.getLocalInputVariableValues(ctx, _)._1).toSet
    val length = CodeGenerator.calculateParamLengthFromExprValues(variables.toSeq)
    // In an order of their own: code that is the same is compiled once.
    if (CodeGenerator.isValidParamLength(length)) Some(variables.toSeq.sortBy(_.variableName))
    else None
  }

  /** Adds a method to the class that is generated; returns the call of it. */
  def define(
      ctx: CodegenContext,
      returns: String,
      name: String,
      parameters: Seq[VariableValue]
  )(body: String): String = {
    val method = ctx.freshName(name)
    val declared = parameters.map { parameter =>
      s"${CodeGenerator.typeName(parameter.javaType)} ${parameter.variableName}"
    }
    val qualified = ctx.addNewFunction(
      method,
      s"""
         |private $returns $method(${declared.mkString(", ")}) {
         |  $body
         |}
       """.stripMargin)
    s"$qualified(${parameters.map(_.variableName).mkString(", ")})"
  }
}
