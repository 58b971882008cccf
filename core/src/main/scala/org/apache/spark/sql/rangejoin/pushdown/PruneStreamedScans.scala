// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * Where adaptive execution has a range index before it plans the stage of the join, the scan of the
 * streamed side is told where the ranges of the index are, and reads nothing but that.
 */
object PruneStreamedScans extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.conf.getConf(RangeJoinConf.RangePruning)) plan
    else plan.transformUp { case join: BroadcastRangeJoinExec => pruned(join) }

  private def pruned(join: BroadcastRangeJoinExec): SparkPlan = {
    val streamed = for {
      range <- join.rangeOfMatched
      // An index of these bounds may have to be made to know.
      if join.streamedPlan.exists(_.isInstanceOf[FileSourceScanExec])
      covered <- join.builtIndex.flatMap(_.covered)
      plan <- scanned(join.streamedPlan, MatchableValues.of(range, covered))
    } yield plan
    streamed.fold[SparkPlan](join)(join.withStreamedPlan)
  }

  /** With the first predicate, or if that cannot be had, with all others that can. */
  private def scanned(plan: SparkPlan, predicates: Seq[Expression]): Option[SparkPlan] =
    predicates.headOption.flatMap(PrunedScan.below(plan, _)).orElse {
      val pruned = PrunedScan.belowEach(plan, predicates.drop(1))
      if (pruned.eq(plan)) None else Some(pruned)
    }
}
