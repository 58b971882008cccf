// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.explain

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{ExplainMode, SimpleMode}
import org.apache.spark.sql.rangejoin.shims.ExplainProvider
import org.apache.spark.sql.rangejoin.{LineAbilities, RangeJoinExplainGenerator, RangeJoinTest}

/** What suites of reports share: queries over tables `l` and `r` with the same rows. */
trait ReportsTest extends RangeJoinTest {

  /** The rows of both tables. */
  protected def table: String

  protected def query(sql: String): DataFrame = {
    for (name <- Seq("l", "r")) spark.sql(table).createOrReplaceTempView(name)
    spark.sql(sql)
  }

  /** EXPLAIN with what a generator adds to it; what it would add, where Spark asks none yet. */
  protected def explained(
      df: DataFrame,
      generator: ExplainProvider = new RangeJoinExplainGenerator,
      mode: ExplainMode = SimpleMode): String =
    if (LineAbilities.explains) {
      val provider = "spark.sql.extendedExplainProviders" -> generator.getClass.getName
      withConf(provider)(execution(df).explainString(mode))
    } else {
      val added = generator.generateExtendedInfo(executedPlan(df))
      s"\n== Extended Information (${generator.title}) ==\n$added"
    }

  protected def reports(df: DataFrame): Seq[JoinReport] = JoinReports.of(executedPlan(df))
}
