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

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The size of a plan as Spark estimates it; None of one with rows that have no size before the optimizer has run. */
private[rangejoin] object KnownSize {

  def of(plan: LogicalPlan): Option[BigInt] =
    try Some(plan.stats.sizeInBytes)
    catch { case _: UnsupportedOperationException => None }
}
