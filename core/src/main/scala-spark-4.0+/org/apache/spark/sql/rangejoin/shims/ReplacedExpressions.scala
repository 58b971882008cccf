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

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.sql.catalyst.expressions.{
  CommonExpressionRef,
  Expression,
  RuntimeReplaceable,
  With
}

/** An expression as it is evaluated, which the optimizer would make of it: `BETWEEN` is two comparisons. */
object ReplacedExpressions {
  def apply(e: Expression): Expression = e match {
    case replaceable: RuntimeReplaceable => apply(replaceable.replacement)
    case With(child, definitions)        =>
      val values = definitions.map(definition => definition.id -> definition.child).toMap
      apply(child.transform { case ref: CommonExpressionRef => values.getOrElse(ref.id, ref) })
    case other => other.mapChildren(apply)
  }
}
