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

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.{Column, SparkSessionExtensions}

/**
 * In Spark 3.5 extensions cannot add hint rules, so hints are resolved by an ordinary resolution rule.
 */
object Hints {
  def inject(extensions: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit =
    extensions.injectResolutionRule(_ => rule)

  /** The parameters, which are what `Dataset.hint` was given. */
  def parameters(hint: UnresolvedHint): Seq[Expression] = hint.parameters.map {
    case e: Expression  => e
    case column: Column => column.expr
    case value          => Try(Literal(value)).getOrElse(Literal(String.valueOf(value)))
  }
}
