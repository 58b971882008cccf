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

import org.apache.spark.internal.Logging
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
 * Has no answer where nothing is marked: the strategies of other extensions, which come later, are to
 * see every join that is not ours. As asking repeats warnings about hints, `JoinSelection` is asked only
 * where the condition holds a range. (Where it does, and Spark plans a join of another kind, a hint that
 * cannot be followed is warned of twice.)
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
        if session.sessionState.conf.getConf(RangeJoinConf.Enabled) && isOurs(join) &&
          hasRange(join) =>
      val planned = session.sessionState.planner.JoinSelection(join)
      if (planned.count(plan => marks(plan)) > 0) planned else Nil
    case _ => Nil
  }

  private def marksBroadcastJoins: Boolean =
    session.sessionState.conf.getConf(RangeJoinConf.Broadcast)

  /** Whether the join has a range, by the condition of whatever node Spark may plan for it. */
  private def hasRange(join: Join): Boolean = {
    val withoutKeys = join match {
      case ExtractEquiJoinKeys(_, _, _, condition, _, _, _, _) => Some(condition)
      case _                                                   => None
    }
    // A nested loop join has the keys in its condition.
    val conditions = withoutKeys ++ Option.when(marksBroadcastJoins)(join.condition)
    val isCandidate = conditions.flatten.exists(RangeExtractor.hasComparison)
    (everyJoin && withoutKeys.isDefined) || isCandidate && {
      val (left, right) = (join.left.outputSet, join.right.outputSet)
      val ranges = conditions.map(RangeExtractor.extract(join.joinType, _, left, right)).toSeq
      if (ranges.forall(_.isLeft)) {
        ranges.head.left.foreach { reason =>
          leave("Spark's own strategies", join.simpleString(100), reason)
        }
      }
      ranges.exists(_.isRight)
    }
  }

  private def isOurs(join: Join): Boolean =
    !join.isStreaming && LogicalQueryStageStrategy(join).isEmpty

  /** Marks a join where it has a range; returns whether it did. */
  private def marks(join: SparkPlan): Boolean = join match {
    case smj: SortMergeJoinExec       => marks(smj, SortMergeMark, rangeOf(smj))
    case other if marksBroadcastJoins =>
      BroadcastRangeJoinExec.of(other).exists(ours => marks(other, BroadcastMark, ours.extracted))
    case _ => false
  }

  private def rangeOf(join: SortMergeJoinExec): Either[Reason, RangeCondition] = {
    val (left, right) = (join.left.outputSet, join.right.outputSet)
    if (everyJoin) RangeExtractor.normalForm(join.joinType, join.condition, left, right)
    else RangeExtractor.extract(join.joinType, join.condition, left, right)
  }

  private def marks(
      join: SparkPlan,
      mark: TreeNodeTag[Unit],
      range: Either[Reason, RangeCondition]
  ): Boolean = {
    range.fold(reason => leave(join, reason), _ => join.setTagValue(mark, ()))
    range.isRight
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
    leave(join.nodeName, join.simpleString(100), reason)

  private def leave(to: String, join: String, reason: Reason): Unit =
    logDebug(s"Join is left to $to: ${reason.message}\n$join")
}
