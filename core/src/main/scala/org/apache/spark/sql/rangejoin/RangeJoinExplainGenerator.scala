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

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.shims.ExplainProvider

/**
 * Adds to EXPLAIN, and to the plan in the SQL tab, which joins are range joins, and why the others are not: name this
 * class in `spark.sql.extendedExplainProviders`. Joins on equi keys alone are left out.
 */
class RangeJoinExplainGenerator extends ExplainProvider {

  override def title: String = "Range joins"

  override def generateExtendedInfo(plan: SparkPlan): String = {
    val reports = JoinReports.of(plan).filter(_.isOfInterest)
    if (reports.isEmpty) "No join of this plan has a condition beside its equi keys.\n"
    else {
      reports.zipWithIndex.map { case (report, i) => s"${i + 1}. ${report.text}\n" }.mkString
    }
  }
}
