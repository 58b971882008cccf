// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.suites

import org.apache.spark.SparkConf
import org.apache.spark.sql.connector.catalog.InMemoryTableCatalog
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanHelper
import org.apache.spark.sql.execution.exchange.{ShuffleExchangeExec, ValidateRequirements}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.test.SharedSparkSession
import org.apache.spark.sql.{DataFrame, QueryTest}

/**
 * Range joins of tables whose source reports how it has partitioned them: as few shuffles as stock
 * Spark's joins, and the same rows, whichever way partitions of one key are put together.
 */
class StoragePartitionedJoinSuite
    extends QueryTest
    with SharedSparkSession
    with AdaptiveSparkPlanHelper {

  override protected def sparkConf: SparkConf = super.sparkConf
    .set("spark.sql.extensions", classOf[RangeJoinExtensions].getName)
    .set("spark.sql.catalog.parts", classOf[InMemoryTableCatalog].getName)
    .set(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key, "-1")
    .set(SQLConf.V2_BUCKETING_ENABLED.key, "true")
    .set(SQLConf.SHUFFLE_PARTITIONS.key, "3")

  private def keyOf(seed: Int, keys: Int) = s"cast(pmod(hash(id, $seed), $keys) AS INT)"

  override def beforeAll(): Unit = {
    super.beforeAll()
    // Several rounds of rows: a key has a split for each of them. Keys of one side are not all the other's.
    for ((name, seed, keys) <- Seq(("l", 1, 7), ("r", 2, 9), ("third", 3, 7))) {
      sql(s"CREATE TABLE parts.$name (id BIGINT, k INT, m INT, t INT) PARTITIONED BY (k, m)")
      sql(s"CREATE TABLE parts.${name}_k (id BIGINT, k INT, m INT, t INT) PARTITIONED BY (k)")
      for (round <- 0 until 3; table <- Seq(name, name + "_k")) {
        sql(s"""INSERT INTO parts.$table SELECT id, ${keyOf(seed, keys)}, ${keyOf(seed + 5, 2)},
               |cast(pmod(hash(id, $seed + 9), 200) AS INT)
               |FROM range(${round * 60}, ${round * 60 + 60}, 1, 2)""".stripMargin)
      }
    }
  }

  private def shuffles(plan: SparkPlan): Int =
    collect(plan) { case shuffle: ShuffleExchangeExec => shuffle }.size

  private def isValid(plan: SparkPlan): Boolean = ValidateRequirements.validate(stripAQEPlan(plan))

  /** The shuffles of the plan. */
  private def check(query: String): Int = {
    var stock: DataFrame = null
    var expected: Seq[String] = Nil
    withSQLConf(RangeJoinConf.Enabled.key -> "false") {
      stock = sql(query)
      expected = stock.collect().map(_.toString).sorted.toSeq
    }
    assert(expected.nonEmpty)
    for (wholeStage <- Seq("true", "false")) {
      withSQLConf(SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> wholeStage) {
        val ours: DataFrame = sql(query)
        assert(ours.collect().map(_.toString).sorted.toSeq == expected, query)
        val plan = ours.queryExecution.executedPlan
        assert(collect(plan) { case join: SortMergeRangeJoinExec => join }.size == 1, plan)
        assert(shuffles(plan) == shuffles(stock.queryExecution.executedPlan), plan)
        // Stock's own plan does not pass where partitions are clustered in part over fewer keys.
        assert(isValid(plan) || !isValid(stock.queryExecution.executedPlan), plan)
      }
    }
    shuffles(stock.queryExecution.executedPlan)
  }

  // Some of its settings are not there on older lines, which take no notice of them.
  private val Bucketing = "spark.sql.sources.v2.bucketing"

  private val Near = "r.t BETWEEN l.t - 20 AND l.t + 20"
  private val Both = s"l.k = r.k AND l.m = r.m AND $Near"
  private val Types = Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")

  /** Each with what else it takes. */
  private val ways: Seq[(String, Seq[(String, String)])] = {
    val pushed = SQLConf.V2_BUCKETING_PUSH_PART_VALUES_ENABLED.key
    val partially = SQLConf.V2_BUCKETING_PARTIALLY_CLUSTERED_DISTRIBUTION_ENABLED.key
    val fewer = Seq(
      s"$Bucketing.allowJoinKeysSubsetOfPartitionKeys.enabled" -> "true",
      SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION.key -> "false"
    )
    Seq(
      "partition values pushed" -> Seq(pushed -> "true", partially -> "false"),
      "partially clustered" -> Seq(pushed -> "true", partially -> "true"),
      "fewer keys than partition columns" ->
        (Seq(pushed -> "true", partially -> "false") ++ fewer),
      "fewer keys, partially clustered" -> (Seq(pushed -> "true", partially -> "true") ++ fewer)
    )
  }

  for {
    (way, settings) <- ways
    adaptive <- Seq("true", "false")
  } test(s"$way, adaptive: $adaptive") {
    withSQLConf(settings :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive): _*) {
      for (join <- Types :+ "FULL JOIN") {
        assert(check(s"SELECT * FROM parts.l l $join parts.r r ON $Both") == 0)
        assert(check(s"SELECT * FROM parts.l_k l $join parts.r_k r ON l.k = r.k AND $Near") == 0)
        check(s"SELECT * FROM parts.l l $join parts.r r ON l.k = r.k AND $Near")
      }
      // Above and below another join, and below an aggregate.
      check(
        s"""SELECT * FROM parts.l_k l JOIN parts.third_k third ON l.k = third.k
           |JOIN parts.r_k r ON third.k = r.k AND $Near""".stripMargin)
      check(
        s"""SELECT * FROM parts.l_k l JOIN parts.r_k r ON l.k = r.k AND $Near
           |JOIN parts.third_k third ON r.k = third.k""".stripMargin)
      check(
        s"""SELECT r.k, count(*), sum(l.t) FROM parts.l_k l JOIN parts.r_k r
           |ON l.k = r.k AND $Near GROUP BY r.k""".stripMargin)
    }
  }

  test("orders that are kept when partitions of one key are put together") {
    for {
      byKey <- Seq("true", "false")
      merged <- Seq("true", "false")
    } withSQLConf(
      SQLConf.V2_BUCKETING_PUSH_PART_VALUES_ENABLED.key -> "true",
      s"$Bucketing.partitionKeyOrdering.enabled" -> "true",
      s"$Bucketing.preserveKeyOrderingOnCoalesce.enabled" -> byKey,
      s"$Bucketing.preserveOrderingOnCoalesce.enabled" -> merged
    ) {
      for (join <- Types) {
        check(s"SELECT * FROM parts.l l $join parts.r r ON $Both")
        check(s"SELECT * FROM parts.l_k l $join parts.r_k r ON l.k = r.k AND $Near")
      }
    }
  }
}
