// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.adaptive.LogicalQueryStageStrategy
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.condition.{JoinCondition, RangeExtractor}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.plan.MarkRangeJoins
import org.apache.spark.sql.rangejoin.shims.ClassicSession
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec

/** The extension with every sort-merge and shuffled hash join as a range join, whether it has a range or not. */
class EveryJoinExtensions extends RangeJoinExtensions {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    super.apply(extensions)
    extensions.injectPlannerStrategy(session => MarkEveryJoin(ClassicSession.of(session)))
  }
}

/**
 * Marks the joins with keys that [[MarkRangeJoins]], which is asked before, has no answer for. Nothing is gained by
 * it but that they put the range join to the test.
 */
case class MarkEveryJoin(session: ClassicSession.SparkSession) extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ ExtractEquiJoinKeys(_, _, _, _, _, _, _, _)
        if isOn(RangeJoinConf.Enabled) && !plan.isStreaming &&
          LogicalQueryStageStrategy(plan).isEmpty =>
      val planned = session.sessionState.planner.JoinSelection(join)
      val marked = planned.filter(canBeMarked)
      marked.foreach(_.setTagValue(MarkRangeJoins.Mark, MarkRangeJoins.Marked(hinted = false)))
      if (marked.nonEmpty) planned else Nil
    case _ => Nil
  }

  private def isOn(entry: ConfigEntry[Boolean]): Boolean =
    session.sessionState.conf.getConf(entry)

  private def canBeMarked(planned: SparkPlan): Boolean = planned match {
    case join: SortMergeJoinExec =>
      RangeExtractor
        .normalForm(
          JoinCondition(join.joinType, join.condition, join.left.outputSet, join.right.outputSet))
        .isRight
    case join: ShuffledHashJoinExec =>
      isOn(RangeJoinConf.Shuffled) && ShuffledRangeJoinExec.of(join).normalForm.isRight
    case _ => false
  }
}
