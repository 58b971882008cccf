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

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain
import org.apache.spark.sql.execution.FilterExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/** Correlated subqueries of few left rows, whose keys filter the right side. */
class FilterMatchesByKeysSuite extends RangeJoinTest {

  private def views(): Unit = {
    def side(name: String, rows: Int) = spark.range(rows)
      .selectExpr(
        "id",
        "IF(id % 13 = 5, NULL, id % 50) AS k",
        "concat('k', id % 3) AS s",
        "IF(id % 2 = 0, -0.0D, 0.0D) AS d",
        "IF(id % 11 = 3, NULL, id * 7 % 500) AS t",
        "id * 3 % 17 AS v"
      )
      .createOrReplaceTempView(name)
    side("l", 200)
    side("r", 2000)
  }

  private def filters(df: DataFrame): Seq[FilterExec] = nodes[FilterExec](df).filter(
    _.condition.exists(_.isInstanceOf[BloomFilterMightContain]))

  private def check(query: String, expected: Int = 1): Unit = {
    val ofStock = withConf(Flag -> "false")(rows(spark.sql(query)))
    for (engine <- bothEngines) withConf(engine: _*) {
      val df = spark.sql(query)
      assertSameRows(rows(df), ofStock, s"$query\n${executedPlan(df)}")
      assert(nodes[RangeJoinExec](df).nonEmpty, executedPlan(df))
      assert(filters(df).size == expected, s"$query\n${executedPlan(df)}")
    }
  }

  private val Range = "r.k = l.k AND r.t <= l.t"

  private def total(where: String = Range): String = s"(SELECT sum(v) FROM r WHERE $where)"

  test("few rows by a filter that the user wrote") {
    views()
    for (where <-
        Seq("l.id = 6", "l.id IN (18, 150, 199, 7)", "l.v < 2 AND l.id > 40"))
      check(s"SELECT l.id, ${total()} AS found FROM l WHERE $where")
  }

  // Spark 3.5 has no correlated subquery with a limit.
  testWhere(SPARK_VERSION >= "4.0")("the first matches of few rows") {
    views()
    check(s"SELECT (SELECT r.v FROM r WHERE $Range ORDER BY r.t DESC, r.id LIMIT 1) AS last " +
      "FROM l WHERE l.id < 9")
    for (join <- Seq("CROSS JOIN", "LEFT JOIN"))
      check(s"SELECT l.id, x.* FROM l $join LATERAL " +
        s"(SELECT r.id, r.v FROM r WHERE $Range ORDER BY r.t DESC, r.id LIMIT 3) x WHERE l.id < 9")
  }

  test("no left row, and one without a key") {
    views()
    for (where <- Seq("l.id = -1", "l.id = 5")) {
      val query = s"SELECT l.id, ${total()} AS found FROM l WHERE $where"
      val ofStock = withConf(Flag -> "false")(rows(spark.sql(query)))
      for (engine <- bothEngines) withConf(engine: _*) {
        assertSameRows(rows(spark.sql(query)), ofStock, query)
      }
    }
  }

  test("few rows that the query has itself") {
    views()
    check("SELECT l.i, (SELECT sum(v) FROM r WHERE r.k = l.k AND r.t BETWEEN l.f AND l.u) AS x " +
      "FROM VALUES (1, 5, 0, 100), (2, 7, 90, 400), (3, 5, 40, 60), (4, NULL, 1, 9) AS l(i, k, f, u)")
  }

  test("several keys, NULL that equals NULL, computed keys, strings") {
    views()
    for (keys <- Seq(
        "r.k = l.k AND r.s = l.s",
        "r.k <=> l.k",
        "r.k + 1 = l.k * 2",
        "r.s = l.s"
      )) check(s"SELECT l.id, ${total(s"$keys AND r.t <= l.t")} AS found FROM l WHERE l.v < 3")
  }

  test("two subqueries") {
    views()
    check(
      s"SELECT l.id, ${total()} AS found, ${total("r.s = l.s AND r.t > l.t")} AS after " +
        "FROM l WHERE l.v < 3",
      expected = 2)
  }

  test("of more rows than the left ones") {
    views()
    for (l <- Seq(
        "(SELECT * FROM l WHERE rand(1) < 2 AND v < 3)",
        "(SELECT DISTINCT k, t, v AS id FROM l WHERE v < 3)",
        "(SELECT l.*, r.v AS w FROM l LEFT JOIN r ON l.id = r.id WHERE l.v < 3)",
        "(SELECT *, row_number() OVER (ORDER BY id) AS n FROM l WHERE v < 3)"
      )) check(s"SELECT l.id, ${total()} AS found FROM $l l")
  }

  test("not where all left rows are asked for, or others each time, or each is costly") {
    views()
    spark.udf.register("odd", (id: Long) => id % 2 == 1)
    for (where <- Seq("true", "l.t IS NOT NULL", "odd(l.id) AND l.v < 3"))
      check(s"SELECT l.id, ${total()} AS found FROM l WHERE $where", expected = 0)
    for (l <- Seq(
        "(SELECT id, CAST(50 * rand(1) AS BIGINT) AS k, t FROM l WHERE v < 3)",
        "(SELECT l.*, r.v AS w FROM l JOIN r ON l.id = r.id WHERE l.v < 3)"
      )) check(s"SELECT l.id, ${total()} AS found FROM $l l", expected = 0)
  }

  test("not where equal keys may have several hashes, or the right side is small") {
    views()
    val few = "FROM l WHERE l.id = 6"
    check(s"SELECT l.id, ${total("r.d = l.d AND r.t <= l.t")} AS found $few", expected = 0)
    withConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10m") {
      check(s"SELECT l.id, ${total()} AS found $few", expected = 0)
    }
    // The left side takes longer to read again than the right side to shuffle.
    check(
      "SELECT r.id, (SELECT sum(v) FROM l WHERE r.k = l.k AND r.t <= l.t) AS found " +
        "FROM r WHERE r.id = 6",
      expected = 0)
  }

  test("settings switch it off") {
    views()
    withConf(SQLConf.RUNTIME_BLOOM_FILTER_ENABLED.key -> "false") {
      check(s"SELECT l.id, ${total()} AS found FROM l WHERE l.id = 5", expected = 0)
    }
    withConf(RangeJoinConf.Correlated.key -> "false") {
      val df = spark.sql(s"SELECT l.id, ${total()} AS found FROM l WHERE l.id = 5")
      assert(filters(df).isEmpty, executedPlan(df))
    }
  }
}
