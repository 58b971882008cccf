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
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate
import org.apache.spark.sql.catalyst.expressions.{Alias, Literal, XxHash64}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.execution.adaptive.{
  BroadcastQueryStageExec,
  LogicalQueryStage,
  QueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest

class RepeatablePlanSuite extends RangeJoinTest {

  private def optimized(df: DataFrame): LogicalPlan = execution(df).optimizedPlan

  /** The first stage of a query that has run, in the place of the query. */
  private def stageOf(text: String): LogicalQueryStage = {
    val df = spark.sql(text)
    rows(df)
    val stage = collectFirst(executedPlan(df)) {
      case stage @ (_: ShuffleQueryStageExec | _: BroadcastQueryStageExec) =>
        stage.asInstanceOf[QueryStageExec]
    }
    assert(stage.exists(_.isMaterialized), executedPlan(df))
    LogicalQueryStage(optimized(df), stage.get)
  }

  test("a shuffle that has run is as repeatable as what it has shuffled") {
    spark.range(1, 301, 1, 4).selectExpr("pmod(id, 1000) AS id", "id % 6 AS g", "double(id) AS d")
      .createOrReplaceTempView("t")
    val ranked = "SELECT *, row_number() OVER (PARTITION BY g ORDER BY g) AS n FROM t"
    withConf(
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1") {
      for ((of, expected) <- Seq(
          "SELECT DISTINCT id FROM t" -> true,
          "SELECT g, max(d) FROM t GROUP BY g" -> true,
          "SELECT g, sum(d) FROM t GROUP BY g" -> false,
          ranked -> false,
          s"SELECT /*+ REPARTITION(3, n) */ * FROM ($ranked)" -> false,
          "SELECT DISTINCT g FROM t WHERE d < (SELECT sum(d) FROM t)" -> false,
          "SELECT DISTINCT g FROM t WHERE d < (SELECT max(d) FROM t)" -> true
        ))
        assert(RepeatablePlan(stageOf(of)) == expected, of)
      // What is broadcast is kept as it is.
      val broadcast = stageOf(s"SELECT t.id FROM t JOIN (SELECT /*+ BROADCAST */ * FROM " +
        s"(SELECT * FROM ($ranked) WHERE n = 1)) r ON t.id = r.id")
      assert(broadcast.physicalPlan.isInstanceOf[BroadcastQueryStageExec], broadcast.physicalPlan)
      assert(RepeatablePlan(broadcast))
    }
  }

  test("a Bloom filter does not depend on the order of rows") {
    val t = optimized(spark.range(9).toDF())
    val bloom = new BloomFilterAggregate(new XxHash64(t.output), Literal(9L), Literal(99L))
    assert(RepeatablePlan(
      Aggregate(Nil, Seq(Alias(bloom.toAggregateExpression(), "bloom")()), t)))
  }
}
