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
 * Adds a report on every join to EXPLAIN, for programs: one line of JSON. `rangejoin.explain` asks a Spark Connect
 * server for it.
 */
class RangeJoinReportGenerator extends ExplainProvider {

  override def title: String = "Range joins as JSON"

  override def generateExtendedInfo(plan: SparkPlan): String = JoinReports.json(plan) + "\n"
}
