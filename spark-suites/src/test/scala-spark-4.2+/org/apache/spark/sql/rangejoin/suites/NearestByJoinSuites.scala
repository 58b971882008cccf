// SPDX-License-Identifier: Apache-2.0

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
