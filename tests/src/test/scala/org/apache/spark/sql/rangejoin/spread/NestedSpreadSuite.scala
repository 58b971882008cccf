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
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.{JobsTest, RangeJoinConf}

/** Joins by buckets whose sides have such joins in them. */
class NestedSpreadSuite extends SpreadTest with JobsTest {

  private val Band = "r.p BETWEEN l.p - 4 AND l.p + 4"

  private val Sizes = Seq(
    SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true",
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "1000",
    RangeJoinConf.SpreadThreshold.key -> "1000"
  )

  private def views(): Unit =
    for ((name, seed) <- Seq("l" -> 3, "r" -> 5))
      spark.range(1, 501, 1, 4).selectExpr("id", s"pmod(hash(id, $seed), 1000) AS p")
        .createOrReplaceTempView(name)

  private def sql(text: String): DataFrame = spark.sql(text)

  test("the sample of a join above waits for nothing, and measures nothing") {
    views()
    val few = "(SELECT * FROM r WHERE id % 50 = 1)"
    for (x <- Seq(
        s"SELECT l.id, r.p FROM l LEFT JOIN $few r ON $Band",
        s"SELECT * FROM l WHERE p > (SELECT count(*) FROM l LEFT JOIN $few r ON $Band)"))
      withConf(Sizes: _*) {
        def query = sql(s"SELECT x.id FROM ($x) x JOIN l y ON y.p BETWEEN x.p AND x.p + 50")
        val df = query
        assert(executedPlan(df).toString.contains("MeasureSide"), executedPlan(df))
        val above = bucketNodes(df).head.spread
        for (isOwner <- Seq(true, false)) {
          val sampled = above.boundsOf(isOwner)
          assert(collectWithSubqueries(sampled) { case w: AwaitSizesExec => w }.isEmpty, sampled)
        }
        assertSameRows(rows(df), withConf(Flag -> "false")(rows(query)), executedPlan(df).toString)
      }
  }
}
