// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.aggregate.AggregateMatchesExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/** Rows of a partitioned table are numbered, and a join above prunes its partitions. */
class NumberByGeneratorSuite extends RangeJoinTest {

  private val Days = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"

  private def withTables(body: => Unit): Unit =
    try {
      spark.range(400).selectExpr("id", "id % 7 AS k", "id * 7 % 50 AS t", "id % 20 AS day")
        .write.partitionBy("day").saveAsTable("parted")
      spark.range(300).selectExpr("id", "id % 7 AS k", "id * 3 % 50 AS t", "id % 17 AS v")
        .createOrReplaceTempView("r")
      // In a table: no filter of days is known before the query runs.
      spark.range(20).selectExpr("id AS day", "id % 5 AS year").write.saveAsTable("days")
      body
    } finally Seq("parted", "days").foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))

  private val Sums =
    "SELECT *, (SELECT sum(v) FROM r WHERE r.k = l.k AND r.t <= l.t) AS total FROM parted l"

  private val TwoSums = Sums.replace(
    "AS total",
    "AS total, (SELECT count(*) FROM r WHERE r.k = l.k AND r.t > l.t) AS n")

  private def partitionsRead(df: DataFrame): Seq[Long] = nodes[FileSourceScanExec](df)
    .filter(_.relation.partitionSchema.nonEmpty).map(_.metrics("numPartitions").value)

  private def check(query: String, joins: Int, read: Long, settings: Settings = Nil): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- bothEngines) withConf(engine ++ (Days +: settings): _*) {
      val df = spark.sql(query)
      assertSameRows(rows(df), expected, query)
      assert(nodes[AggregateMatchesExec](df).size == joins, executedPlan(df))
      assert(partitionsRead(df).sum == read, executedPlan(df))
    }
  }

  test("a join above prunes the partitions of numbered rows") {
    withTables {
      check(s"SELECT v.* FROM ($Sums) v JOIN days ON v.day = days.day WHERE year = 3", 1, 4)
      check(s"SELECT total FROM days JOIN ($Sums) v USING (day) WHERE year < 2 AND k > 2", 1, 8)
      check(s"SELECT day, total FROM ($Sums) LEFT SEMI JOIN days USING (day)", 1, 20)
    }
  }

  test("each number is of one row, where rows are equal") {
    withTables {
      val twice = s"SELECT l.k, l.t, l.day FROM parted l, range(2)"
      val sums = Sums.replace("parted l", s"($twice) l")
      check(s"SELECT v.* FROM ($sums) v JOIN days ON v.day = days.day WHERE year = 3", 1, 4)
      // With a range join above the aggregate.
      val pairs = s"SELECT p.v, v.* FROM ($Sums) v JOIN days USING (day) JOIN r p ON p.k = v.k " +
        "WHERE year = 3 AND p.t BETWEEN v.t - 9 AND v.t"
      check(pairs, 1, 4)
    }
  }

  test("two subqueries, each with a number") {
    withTables {
      check(s"SELECT v.* FROM ($TwoSums) v JOIN days ON v.day = days.day WHERE year = 3", 2, 4)
    }
  }

  test("the rows of several joins are shuffled and sorted once") {
    withTables {
      val query = s"SELECT v.* FROM ($TwoSums) v JOIN days ON v.day = days.day WHERE year = 3"
      val expected = rowsOfStock(spark.sql(query))
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
        val df = spark.sql(query.replace("SELECT v", "SELECT /*+ BROADCAST(days) */ v"))
        assertSameRows(rows(df), expected, query)
        assert(partitionsRead(df).sum == 4, executedPlan(df))
        assert(nodes[RangeSortExec](df).size == 3, executedPlan(df))
      }
    }
  }

  test("all partitions are read where stock Spark reads them") {
    withTables {
      check(s"SELECT v.* FROM ($Sums) v JOIN days ON v.day = days.day", 1, 20)
      check(s"SELECT v.* FROM ($Sums) v LEFT JOIN days ON v.day = days.day AND year = 3", 1, 20)
      val off = SQLConf.DYNAMIC_PARTITION_PRUNING_ENABLED.key -> "false"
      check(s"SELECT v.* FROM ($Sums) v JOIN days USING (day) WHERE year = 3", 1, 20, Seq(off))
    }
  }
}
