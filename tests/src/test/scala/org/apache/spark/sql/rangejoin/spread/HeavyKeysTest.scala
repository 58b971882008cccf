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

package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.ExplainMode
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings

/** Queries over two tables with few or hot keys, under settings with which such keys are cut. */
trait HeavyKeysTest extends KeyedSpreadTest {

  protected val Band = "l.k = r.k AND r.p BETWEEN l.p - 20 AND l.p + 20"

  /** Sixteen tasks, and no partition too small to be looked at. */
  protected val BySize: Settings = Seq(
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
    SQLConf.SHUFFLE_PARTITIONS.key -> "16",
    SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM.key -> "16",
    SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE.key -> "1b",
    RangeJoinConf.SpreadKeysThreshold.key -> "1b"
  )

  /** Tables `l` and `r` with a key and a point. */
  protected def views(key: String, rows: Int = 4000, point: String = "pmod(hash(id, 1), 40000)") =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5)) {
      spark.range(1, rows + 1L, 1, 4)
        .selectExpr("id", s"int($key) AS k", s"${point.replace("1)", s"$seed)")} AS p")
        .createOrReplaceTempView(name)
    }

  protected val Hot = "IF(id % 2 = 0, 0, id % 500)"

  protected def sql(text: String): DataFrame = spark.sql(text)

  protected def stock(text: String): Seq[String] = withConf(Flag -> "false")(rows(sql(text)))

  /** Runs a query under settings; it has the rows of stock Spark. */
  protected def ran(text: String, settings: Settings = BySize): DataFrame = {
    val expected = stock(text)
    withConf(settings: _*) {
      val df = sql(text)
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(expected.nonEmpty)
      df
    }
  }

  protected val SelfJoin: String =
    "SELECT l.id, r.id FROM l JOIN l r ON l.k = r.k AND r.p BETWEEN l.p - 90 AND l.p + 90"

  /** The two sides of a join of a table with itself are one exchange, where exchanges are used again. */
  protected def checkSelfJoin(settings: Settings): Unit =
    for (reuse <- Seq("true", "false")) {
      val df = ran(SelfJoin, settings :+ (SQLConf.EXCHANGE_REUSE_ENABLED.key -> reuse))
      assert(shuffles(df).size == 2, executedPlan(df))
      assert(collect(executedPlan(df)) { case r: ReusedExchangeExec => r }.nonEmpty ==
        (reuse == "true"))
    }

  /** A query that is executed again, and cached then; `block` looks at it in between. */
  protected def checkAgain(settings: Settings)(block: DataFrame => Unit): Unit = {
    val text = s"SELECT l.id, r.id FROM l JOIN r ON $Band"
    val expected = stock(text)
    withConf(settings: _*) {
      val df = sql(text)
      for (_ <- 1 to 2) assertSameRows(rows(df), expected, "executed again")
      block(df)
      df.cache()
      try for (_ <- 1 to 2) assertSameRows(rows(df.where("1 = 1")), expected, "of the cache")
      finally df.unpersist()
    }
  }

  protected def formatted(df: DataFrame): String = executedPlan(df).treeString +
    execution(df).explainString(ExplainMode.fromString("formatted"))
}
