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

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.physical.BroadcastPartitioning
import org.apache.spark.sql.execution.adaptive.{
  BroadcastQueryStageExec,
  InvalidAQEPlanException,
  LogicalQueryStage
}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.index.RangeIndexMode

/**
 * Plans a join again one side of which is being broadcast, or has been, as a range index: what
 * `LogicalQueryStageStrategy` is for the broadcasts of Spark's own joins. It has to be the join the
 * index was made for, whatever the settings are by now; where it is not, the present plan is kept.
 */
object PlanIndexedStages extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ Join(left, right, _, _, _) =>
      val sides = Seq[(BuildSide, LogicalPlan)](BuildLeft -> left, BuildRight -> right)
      val indexed = sides.flatMap { case (side, of) => indexedStage(of).map(side -> _) }
      if (indexed.isEmpty) Nil
      else {
        val planned = indexed.flatMap { case (side, (stage, mode)) =>
          joinOver(join, side, stage, mode)
            .filter(_.mode.canonicalized == mode.canonicalized)
            .map(_.overHidden(stage))
        }
        planned.headOption
          .map(Seq(_))
          .getOrElse(throw InvalidAQEPlanException(
            "A range index was broadcast for another join",
            indexed.head._2._1))
      }
    case _ => Nil
  }

  private def indexedStage(plan: LogicalPlan): Option[(BroadcastQueryStageExec, RangeIndexMode)] =
    plan match {
      case stage @ LogicalQueryStage(_, broadcast: BroadcastQueryStageExec) =>
        broadcast.broadcast.outputPartitioning match {
          case BroadcastPartitioning(mode: RangeIndexMode) =>
            broadcast.setLogicalLink(stage)
            Some(broadcast -> mode)
          case _ => None
        }
      case _ => None
    }

  private def joinOver(
      join: Join,
      side: BuildSide,
      stage: BroadcastQueryStageExec,
      mode: RangeIndexMode
  ): Option[BroadcastRangeJoinExec] = {
    val (left, right) =
      if (side == BuildLeft) (stage, planLater(join.right)) else (planLater(join.left), stage)
    // A nested loop join may have equi keys that no hash join takes: the index says what it was.
    val stock = join match {
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, condition, _, _, _, _)
          if mode.keys.nonEmpty =>
        BroadcastHashJoinExec(leftKeys, rightKeys, joinType, side, condition, left, right)
      case _ => BroadcastNestedLoopJoinExec(left, right, side, join.joinType, join.condition)
    }
    BroadcastRangeJoinExec.of(stock).filter(_.extracted.isRight)
  }
}
