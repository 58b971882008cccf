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

import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/** Which child of a join. */
sealed trait Side {
  def other: Side = if (this == LeftSide) RightSide else LeftSide

  def of(join: Join): LogicalPlan = if (this == LeftSide) join.left else join.right
}

case object LeftSide extends Side

case object RightSide extends Side
