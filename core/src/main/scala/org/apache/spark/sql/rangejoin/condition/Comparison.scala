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

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._

/** A predicate in the form `lesser <= greater`, or `<`. */
private[rangejoin] case class Comparison(
    lesser: Expression,
    greater: Expression,
    strict: Boolean,
    predicate: Expression
)

private[rangejoin] object Comparison {

  /** A predicate that is an inequality. */
  def of(predicate: Expression): Option[Comparison] = predicate match {
    case LessThanOrEqual(a, b)    => Some(Comparison(a, b, strict = false, predicate))
    case LessThan(a, b)           => Some(Comparison(a, b, strict = true, predicate))
    case GreaterThanOrEqual(a, b) => Some(Comparison(b, a, strict = false, predicate))
    case GreaterThan(a, b)        => Some(Comparison(b, a, strict = true, predicate))
    case _                        => None
  }
}
