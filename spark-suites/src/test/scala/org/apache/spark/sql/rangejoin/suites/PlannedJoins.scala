// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.shuffled.{ProductRangeJoinExec, ShuffledRangeJoinExec}

/**
 * Counts the range joins in the plans of a suite; to be loaded after the extension itself. A join
 * that is planned again, as adaptive execution does after each stage, counts once: it is known by
 * its columns.
 */
class PlannedJoins extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectQueryStagePrepRule(_ => PlannedJoins.Count)
    extensions.injectColumnar(_ => PlannedJoins.CountBeforeTransitions)
  }
}

object PlannedJoins {
  private val seen = ConcurrentHashMap.newKeySet[Any]()

  def count: Int = seen.size

  def reset(): Unit = seen.clear()

  private object Count extends Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = {
      plan.foreach {
        case join @ (_: SortMergeRangeJoinExec | _: BroadcastRangeJoinExec |
            _: ShuffledRangeJoinExec | _: ProductRangeJoinExec) =>
          val planned = join.asInstanceOf[BaseJoinExec]
          seen.add((planned.leftKeys, planned.rightKeys, planned.joinType, planned.condition))
        case _ =>
      }
      plan
    }
  }

  private object CountBeforeTransitions extends ColumnarRule {
    override def preColumnarTransitions: Rule[SparkPlan] = Count
  }
}
