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

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule

/** Hints, which extensions can have rules for. */
object Hints {
  def inject(extensions: SparkSessionExtensions, rule: Rule[LogicalPlan]): Unit = {
    extensions.injectHintResolutionRule(_ => rule)
    // A session with Hive support has no rules for hints but Spark's.
    extensions.injectResolutionRule(_ => rule)
  }

  /** The parameters of a hint. */
  def parameters(hint: UnresolvedHint): Seq[Expression] = hint.parameters
}
