// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.SparkConf
import org.apache.spark.sql.SQLQueryTestSuite
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.suites.Exclusion._

/**
 * Of the queries with golden files those that join, outright or by way of a subquery. They run with
 * sort-merge joins only: under none of the settings their files ask for that lead to other joins.
 */
abstract class JoinQueries extends SQLQueryTestSuite with GoldenFileDimensions with WithRangeJoins {
  import JoinQueries._

  override protected def exclusions: Seq[Exclusion] =
    Exclusion.of(OrderNotGiven(query = if (isSince("4.0")) 9 else 4))(
      "subquery/in-subquery/in-limit.sql"
    ) ++ Exclusion.before("4.2")(
      Exclusion.of(OrderNotGiven(query = 12))("subquery/in-subquery/in-order-by.sql") ++
        Exclusion.of(OrderNotGiven(query = 11))("subquery/in-subquery/in-set-operations.sql")
    )

  override def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD, -1L)

  override protected def createScalaTestCase(testCase: TestCase): Unit = testCase match {
    case _: AnalyzerTest            =>
    case other if joins(other.name) => super.createScalaTestCase(other)
    case _                          =>
  }

  override protected def runsWith(settings: Seq[(String, String)]): Boolean =
    !settings.exists(ofOtherJoins)
}

object JoinQueries {
  private val files = Set(
    "cross-join.sql",
    "except-all.sql",
    "except.sql",
    "inner-join.sql",
    "intersect-all.sql",
    "join-empty-relation.sql",
    "join-lateral.sql",
    "natural-join.sql",
    "outer-join.sql",
    "pred-pushdown.sql",
    "udf/udf-inner-join.sql - Scala UDF",
    "udf/udf-natural-join.sql - Scala UDF",
    "udf/udf-outer-join.sql - Scala UDF",
    "using-join.sql"
  )

  private def joins(name: String): Boolean = files(name) || name.startsWith("subquery/")

  private val ofOtherJoins = Set(
    "spark.sql.autoBroadcastJoinThreshold" -> "10485760",
    "spark.sql.join.forceApplyShuffledHashJoin" -> "true",
    "spark.sql.optimizeNullAwareAntiJoin" -> "false"
  )
}
