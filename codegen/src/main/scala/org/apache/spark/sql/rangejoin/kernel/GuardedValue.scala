/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodeGenerator, CodegenContext, ExprCode}
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
