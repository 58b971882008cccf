// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.rangejoin.RangeJoinTest

/** Moments of equal values are what stock Spark makes of them: no variance, and no skewness. */
class ExactMomentsSuite extends RangeJoinTest {

  private val Functions = Seq(
    "stddev(r.v)",
    "stddev_pop(r.v)",
    "variance(r.v)",
    "var_pop(r.v)",
    "skewness(r.v)",
    "kurtosis(r.v)",
    "corr(r.v, r.t)",
    "covar_pop(r.v, r.t)",
    "regr_slope(r.t, r.v)",
    "regr_r2(r.t, r.v)",
    "regr_intercept(r.v, r.t)",
    "stddev(l.v)"
  ).mkString(", ")

  private def sides(): Unit = {
    val value = "IF(id % 2 = 0, 7, 0.1D) AS v"
    spark.range(0, 40, 1, 1).selectExpr("id", "id % 2 AS k", "780 + id AS t", value)
      .createOrReplaceTempView("l")
    spark.range(0, 802, 1, 1).selectExpr("id % 2 AS k", "id AS t", value)
      .createOrReplaceTempView("r")
  }

  /** With ANSI a correlation of equal values is a division by zero. */
  private def check(query: String): Unit = ansi(on = false) {
    sides()
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- bothEngines) withConf(engine: _*) {
      val df = spark.sql(query)
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(nodes[AggregateMatchesExec](df).size == 1, executedPlan(df))
    }
  }

  test("several rows of a group") {
    for (range <- Seq("r.t BETWEEN l.t - 300 AND l.t", "r.t <= l.t", "r.t >= l.t"))
      check(s"SELECT l.k, $Functions FROM l JOIN r ON l.k = r.k AND $range GROUP BY l.k")
  }

  test("a row of each group") {
    for (range <- Seq("r.t BETWEEN l.t - 49 AND l.t", "r.t <= l.t", "r.t >= l.t"))
      check(
        s"SELECT l.k, l.id, $Functions FROM l JOIN r ON l.k = r.k AND $range GROUP BY l.k, l.id")
  }

  test("windows of their own") {
    val windows = "stddev(CASE WHEN r.t > l.t - 98 THEN r.v END), " +
      "skewness(r.v) FILTER (WHERE r.t > l.t - 50), stddev(IF(r.t > l.t - 22, r.v, l.v))"
    check(s"SELECT l.k, $windows FROM l JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 100 AND l.t GROUP BY l.k")
  }
}
