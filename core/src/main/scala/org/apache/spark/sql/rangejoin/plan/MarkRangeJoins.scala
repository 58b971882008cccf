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

import scala.util.{Left, Right}

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.adaptive.LogicalQueryStageStrategy
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, RangeExtractor, Reason}

/**
 * Marks the sort-merge and broadcast joins that can run as range joins. The plan is Spark's own in
 * every case: this strategy asks `JoinSelection` and hands on its answer, with a mark where it is a
 * join with a range. [[PlaceSortMergeRangeJoins]] and [[PlaceBroadcastRangeJoins]] act on the mark once all
 * rules of Spark that know the stock node are done with it.
 *
 * Steps aside for streaming plans, and where a finished broadcast stage decides the join.
 *
 * @param everyJoin whether to mark sort-merge joins without a range, too: nothing is gained by it but
 *   that they put the range join to the test
 */
case class MarkRangeJoins(session: SparkSession, everyJoin: Boolean = false)
    extends SparkStrategy {
  import MarkRangeJoins._

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join: Join
        if session.sessionState.conf.getConf(RangeJoinConf.Enabled) &&
          (everyJoin || conditionOf(join).exists(RangeExtractor.hasComparison)) && isOurs(join) =>
      // Asked once: asking again would repeat its warnings about hints.
      val planned = session.sessionState.planner.JoinSelection(join)
      planned.foreach {
        case smj: SortMergeJoinExec       => markSortMerge(smj)
        case other if marksBroadcastJoins => markBroadcast(other)
        case _                            =>
      }
      planned
    case _ => Nil
  }

  private def marksBroadcastJoins: Boolean =
    session.sessionState.conf.getConf(RangeJoinConf.Broadcast)

  /** What is to be searched for a range: the condition without equi keys. */
  private def conditionOf(join: Join): Option[Expression] = join match {
    case ExtractEquiJoinKeys(_, _, _, condition, _, _, _, _) => condition
    case _ if marksBroadcastJoins                            => join.condition
    case _                                                   => None
  }

  private def isOurs(join: Join): Boolean =
    !join.isStreaming && LogicalQueryStageStrategy(join).isEmpty

  private def markSortMerge(join: SortMergeJoinExec): Unit = {
    val (left, right) = (join.left.outputSet, join.right.outputSet)
    val range =
      if (everyJoin) RangeExtractor.normalForm(join.joinType, join.condition, left, right)
      else RangeExtractor.extract(join.joinType, join.condition, left, right)
    mark(join, range, SortMergeMark)
  }

  private def markBroadcast(join: SparkPlan): Unit =
    BroadcastRangeJoinExec.of(join).foreach(ours => mark(join, ours.extracted, BroadcastMark))

  private def mark(
      join: SparkPlan,
      range: Either[Reason, RangeCondition],
      mark: TreeNodeTag[Unit]
  ): Unit = range match {
    case Right(_)     => join.setTagValue(mark, ())
    case Left(reason) => leave(join, reason)
  }
}

object MarkRangeJoins extends Logging {

  /** On a stock sort-merge join: [[PlaceSortMergeRangeJoins]] replaces it by a range join. */
  val SortMergeMark: TreeNodeTag[Unit] = TreeNodeTag[Unit]("rangejoin.sortMerge")

  /** On a stock broadcast join: [[PlaceBroadcastRangeJoins]] replaces it by a range join. */
  val BroadcastMark: TreeNodeTag[Unit] = TreeNodeTag[Unit]("rangejoin.broadcast")

  /** On a stock join that planning left alone for more than its condition: why. */
  val ReasonTag: TreeNodeTag[Reason] = TreeNodeTag[Reason]("rangejoin.reason")

  /** Says why a join stays as Spark planned it. */
  private[plan] def leave(join: SparkPlan, reason: Reason): Unit =
    logDebug(s"Join is left to ${join.nodeName}: ${reason.message}\n${join.simpleString(100)}")
}
