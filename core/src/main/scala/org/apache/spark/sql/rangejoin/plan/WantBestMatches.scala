// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.joins._
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.broadcast.IndexedStageJoinExec
import org.apache.spark.sql.rangejoin.condition.{RightSide, Side}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.reduce.BestMatches

/**
 * Tells a marked join which of the matches of a row are wanted, where all that is asked of them is a
 * ranking by a column of the other side, or by how far it is from a value of the row: `row_number() <= k`
 * and the like, or the value at the least or greatest of it, in partitions or groups by columns of the row.
 *
 * What ranks the pairs stays where it is. A pair that is not among the best of its own row is not among the
 * best of a partition that has other rows as well, so nothing has to be known of the columns that rows
 * are partitioned by but that they are of one side. And as pairs beyond the best change nothing, a join may
 * give as many of them as it finds convenient.
 *
 * Runs before marked joins are replaced.
 */
object WantBestMatches extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    if (conf.getConf(RangeJoinConf.BestMatches)) {
      plan.foreach(node => WantedPairs.of(node).foreach(tell(_, node.children.head)))
    }
    plan
  }

  private def tell(wanted: WantedPairs, below: SparkPlan): Unit = below match {
    case SortExec(_, false, child, _)      => tell(wanted, child)
    case ProjectExec(projected, child)     => wanted.below(projected).foreach(tell(_, child))
    case join: SortMergeJoinExec           => tell(wanted, join, join, None)
    case join: HashJoin                    => tell(wanted, join, join, Some(join.buildSide))
    case join: BroadcastNestedLoopJoinExec => tell(wanted, join, join, Some(join.buildSide))
    case join: IndexedStageJoinExec => tell(wanted, join, join.replacement, Some(join.buildSide))
    case _                          =>
  }

  /** @param built the side that cannot be streamed; None where either can */
  private def tell(
      wanted: WantedPairs,
      marked: SparkPlan,
      join: BaseJoinExec,
      built: Option[BuildSide]
  ): Unit = {
    val left = join.left.outputSet
    val told = wanted.of(left, join.right.outputSet)
      .filterOrElse(
        best => WantedPairs.areAll(join.joinType, best.streamedSide(left)),
        "write an INNER join, or an outer one that keeps the rows that are ranked for")
      .filterOrElse(
        best => built.forall(isOther(_, best.streamedSide(left))),
        "let Spark broadcast the other side, or neither: the rows that are ranked for are in an index"
      )
    told.fold(marked.setTagValue(BestMatches.RefusalTag, _), marked.setTagValue(BestMatches.Tag, _))
  }

  private def isOther(built: BuildSide, streamed: Side): Boolean =
    (built == BuildLeft) == (streamed == RightSide)
}
