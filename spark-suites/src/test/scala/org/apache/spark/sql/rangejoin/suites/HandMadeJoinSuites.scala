// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{
  ExistenceJoinSuite,
  InnerJoinSuite,
  OuterJoinSuite,
  ShuffledHashJoinExec,
  SortMergeJoinExec
}
import org.apache.spark.sql.rangejoin.plan.MarkRangeJoins
import org.apache.spark.sql.{DataFrame, Row}

/**
 * For suites that make their nodes by hand, so that no strategy sees them: each sort-merge
 * and shuffled hash join they make is marked, and the extension does the rest when the plan is prepared.
 */
trait MarksHandMadeJoins extends HandMadeJoinTest.Base with EveryJoin {

  override protected def doCheckAnswer(
      input: Seq[DataFrame],
      planFunction: Seq[SparkPlan] => SparkPlan,
      expectedAnswer: Seq[Row],
      sortAnswers: Boolean
  ): Unit = {
    def marked(plans: Seq[SparkPlan]): SparkPlan = {
      val plan = planFunction(plans)
      plan.foreach {
        case join @ (_: SortMergeJoinExec | _: ShuffledHashJoinExec) =>
          join.setTagValue(MarkRangeJoins.Mark, MarkRangeJoins.Marked(hinted = false))
        case _ =>
      }
      plan
    }
    super.doCheckAnswer(input, marked, expectedAnswer, sortAnswers)
  }
}

class InnerJoinSuiteEveryJoin extends InnerJoinSuite with MarksHandMadeJoins

class OuterJoinSuiteEveryJoin extends OuterJoinSuite with MarksHandMadeJoins

class ExistenceJoinSuiteEveryJoin extends ExistenceJoinSuite with MarksHandMadeJoins
