// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import scala.util.control.NonFatal

import org.apache.spark.TaskKilledException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
import org.apache.spark.sql.rangejoin.shims.EvaluatedInPlace
import org.apache.spark.sql.types.DataType

/**
 * A value to sort by that never raises: NULL, which is sorted first, where the child raises. A
 * [[RangeBound]] of such a row is the smallest long, so that rows sorted by this value are sorted
 * by the bound.
 */
case class GuardedValue(child: Expression) extends Guarded {

  override def children: Seq[Expression] = Seq(child)

  override def dataType: DataType = child.dataType

  override def nullable: Boolean = true

  override def eval(input: InternalRow): Any =
    try child.eval(input)
    catch {
      case e: Throwable =>
        Guarded.rethrowUnlessOfData(e)
        null
    }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val error = ctx.freshName("error")
    ev.copy(code = code"""
      |boolean ${ev.isNull} = true;
      |${CodeGenerator.javaType(dataType)} ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      |try {
      |  ${value.code}
      |  ${ev.isNull} = ${value.isNull};
      |  ${ev.value} = ${value.value};
      |} catch (Throwable $error) {
      |  ${Guarded.rethrowUnlessOfDataCode(error)}
      |}
    """.stripMargin)
  }

  override def toString: String = child.toString

  override def sql: String = child.sql

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[Expression]
  ): GuardedValue = copy(child = newChildren.head)
}

/**
 * An expression that has a value even if evaluating its children raises an error: ranges are read ahead of the
 * condition, of rows that the condition may never see.
 *
 * Nothing below may be evaluated ahead of it (as a common subexpression, for example), since that
 * would raise outside of the guard.
 */
trait Guarded extends EvaluatedInPlace

object Guarded {

  /**
   * Swallows errors that the value of a row can cause, and raises others again: a killed task, an interrupt, an error
   * of the JVM.
   */
  def rethrowUnlessOfData(error: Throwable): Unit = error match {
    case e: TaskKilledException => throw e
    case NonFatal(_)            => ()
    case e                      => throw e
  }

  /** A call of [[rethrowUnlessOfData]] in Java. */
  def rethrowUnlessOfDataCode(error: String): String =
    s"${getClass.getName}.MODULE$$.rethrowUnlessOfData($error);"
}
