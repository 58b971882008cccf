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

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FilterExec, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.Predicates

/**
 * The scans of files below the filters that [[InferRangeFilters]] has inferred are told of them, where a
 * scan can be trusted with that. Runs several times over the same plan.
 */
object PruneLimitedScans extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp { case filter: FilterExec =>
    val limits = Predicates.split(filter.condition).collect { case ImpliedLimit(limit) => limit }
    val child = PrunedScan.belowEach(filter.child, limits)
    if (child.eq(filter.child)) filter else filter.withNewChildren(Seq(child))
  }
}
