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
