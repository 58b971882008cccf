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

package org.apache.spark.sql.rangejoin.plan

import scala.reflect.ClassTag

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ValidateRequirements

/** Replaces nodes of a plan, unless an operator above needs the shuffle or the order of what would go. */
private[plan] object ReplaceWhereValid {

  /** @param replacement None to leave a node as it is */
  def apply[T <: SparkPlan: ClassTag](plan: SparkPlan)(
      replacement: T => Option[SparkPlan]): SparkPlan = {
    def nodes(plan: SparkPlan) = plan.collect { case node: T => node }
    // From the last one on: what goes with a node are others behind it.
    nodes(plan).indices.foldRight(plan) { (index, placed) =>
      val node = nodes(placed)(index)
      replacement(node)
        .map(replaced => placed.transformUp { case same if same.eq(node) => replaced })
        .filter(ValidateRequirements.validate)
        .getOrElse(placed)
    }
  }
}
