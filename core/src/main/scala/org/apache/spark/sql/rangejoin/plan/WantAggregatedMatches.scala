// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.SortMergeJoinExec
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec

/**
 * Tells a marked sort-merge join which side to stream, where a partial aggregate above it is grouped by
 * columns of that side: its matches can then be aggregated in the join ([[AggregateMatchesInPlace]]).
 *
 * Runs before marked joins are replaced.
 */
object WantAggregatedMatches extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = {
    if (conf.getConf(RangeJoinConf.AggregatedMatches)) {
      plan.foreach(node => AggregatedPairs.of(node).foreach(tell))
    }
    plan
  }

  private def tell(wanted: AggregatedPairs): Unit = wanted.pairs match {
    case join: SortMergeJoinExec =>
      wanted.sides(join.left.outputSet, join.right.outputSet).foreach { sides =>
        // If either side may be streamed, take the one that the range streams by default.
        val chosen =
          if (sides.size == 1) sides.headOption
          else SortMergeRangeJoinExec.of(join).normalForm.toOption.map(_.streamed)
        chosen.filter(WantedPairs.areAll(join.joinType, _))
          .foreach(join.setTagValue(AggregateMatchesExec.StreamedTag, _))
      }
    case _ =>
  }
}
