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
        case join: SortMergeJoinExec    => join.setTagValue(MarkRangeJoins.SortMergeMark, ())
        case join: ShuffledHashJoinExec => join.setTagValue(MarkRangeJoins.ShuffledMark, ())
        case _                          =>
      }
      plan
    }
    super.doCheckAnswer(input, marked, expectedAnswer, sortAnswers)
  }
}

class InnerJoinSuiteEveryJoin extends InnerJoinSuite with MarksHandMadeJoins

class OuterJoinSuiteEveryJoin extends OuterJoinSuite with MarksHandMadeJoins

class ExistenceJoinSuiteEveryJoin extends ExistenceJoinSuite with MarksHandMadeJoins
