// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.sql.SQLQueryTestSuite

/** Golden files are run once for each set of settings that they name. */
trait GoldenFileDimensions extends SQLQueryTestSuite {

  /** Whether queries run with these settings. */
  protected def runsWith(settings: Seq[(String, String)]): Boolean

  override protected def runQueriesWithSparkConfigDimensions(
      queries: Seq[String],
      testCase: TestCase,
      sparkConfigSet: Array[(String, String)],
      sparkConfigDims: Seq[Seq[(String, String)]]
  ): Unit = super.runQueriesWithSparkConfigDimensions(
    queries,
    testCase,
    sparkConfigSet,
    sparkConfigDims.filter(runsWith)
  )
}
