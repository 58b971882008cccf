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
