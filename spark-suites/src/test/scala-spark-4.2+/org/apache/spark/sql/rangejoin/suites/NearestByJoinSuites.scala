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

import org.apache.spark.sql.rangejoin.suites.Exclusion.ExplainsStockNode
import org.apache.spark.sql.{DataFrameNearestByJoinSuite, SQLQueryTestSuite}

class DataFrameNearestByJoinSuiteLoaded extends DataFrameNearestByJoinSuite with ExtensionLoaded

/** The golden file of nearest rows, which are looked for in a side that is broadcast. */
class NearestByQueriesLoaded extends SQLQueryTestSuite with ExtensionLoaded {
  override protected def exclusions: Seq[Exclusion] =
    Exclusion.of(ExplainsStockNode(query = 19))("join-nearest-by.sql")

  override protected def createScalaTestCase(testCase: TestCase): Unit = testCase match {
    case _: AnalyzerTest                                =>
    case golden if golden.name == "join-nearest-by.sql" => super.createScalaTestCase(golden)
    case _                                              =>
  }
}
