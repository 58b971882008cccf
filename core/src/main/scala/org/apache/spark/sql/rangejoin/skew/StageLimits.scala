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

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.sql.execution._

/** Limits at the end of a stage. */
private[skew] object StageLimits {

  /** Whether a stage ends in a limit that reads no more rows than it needs. */
  def isLimited(plan: SparkPlan): Boolean = plan match {
    case _: CollectLimitExec | _: CollectTailExec | _: LimitExec => true
    case node: OrderPreservingUnaryExecNode                      => isLimited(node.child)
    case union: UnionExec                                        => union.children.exists(isLimited)
    case _                                                       => false
  }
}
