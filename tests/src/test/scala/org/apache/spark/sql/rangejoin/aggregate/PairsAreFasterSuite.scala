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

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/** Where Spark's aggregate over pairs is faster than one in the join, it stays. */
class PairsAreFasterSuite extends RangeJoinTest {
  import RangeJoinTest._

  private val Adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED.key

  private def sides(): Unit = {
    spark.range(300).selectExpr(
      "id",
      "id % 10 AS k",
      "id * 7 % 90 AS t").createOrReplaceTempView("l")
    spark.range(400).selectExpr("id", "id % 10 AS k", "id * 11 % 80 AS t")
      .createOrReplaceTempView("r")
  }

  /** Runs a query as stock Spark does, and says whether the matches were aggregated in the join. */
  private def isAggregated(query: String): Boolean = {
    val expected = withConf(Oracle: _*)(rows(spark.sql(query)))
    val df: DataFrame = spark.sql(query)
    assertSameRows(rows(df), expected, query)
    assert(nodes[RangeJoinExec](df).size == 1, executedPlan(df))
    nodes[AggregateMatchesExec](df).nonEmpty
  }

  private def query(hint: String, by: String, more: String = ""): String =
    s"SELECT /*+ $hint(r) */ count(*), sum(r.id) FROM l JOIN r ON l.k = r.k AND r.t <= l.t $more $by"

  test("one group, and a residual that each pair is asked") {
    sides()
    for (hint <- Seq("BROADCAST", "MERGE", "SHUFFLE_HASH"); adaptive <- Seq("true", "false"))
      withConf(Adaptive -> adaptive) {
        assert(!isAggregated(query(hint, "", "AND r.id <> l.id")))
        assert(isAggregated(query(hint, "GROUP BY l.id", "AND r.id <> l.id")))
        assert(isAggregated(query(hint, "")))
      }
  }
}
