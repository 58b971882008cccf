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

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.ShuffledHashJoinExec
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec

/**
 * Puts the range join in the place of every marked shuffled hash join, once all rules of Spark that know
 * the stock node are done with it. Runs several times over the same plan.
 */
object PlaceShuffledRangeJoins extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    val placed = plan.transformUp {
      case join: ShuffledHashJoinExec if join.getTagValue(MarkRangeJoins.ShuffledMark).isDefined =>
        place(join)
    }
    if (placed.eq(plan)) plan else CodegenBoundaries.belowUnions(placed)
  }

  private def place(stock: ShuffledHashJoinExec): SparkPlan = {
    val join = ShuffledRangeJoinExec.of(stock)
    join.normalForm.fold(
      reason => {
        stock.setTagValue(MarkRangeJoins.ReasonTag, reason)
        MarkRangeJoins.leave(stock, reason)
        stock
      },
      _ => join.copy(left = CodegenBoundaryExec(join.left), right = CodegenBoundaryExec(join.right))
    )
  }
}
