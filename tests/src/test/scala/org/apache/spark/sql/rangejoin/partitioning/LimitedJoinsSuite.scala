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

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.explain.JoinReports

/** Joins without keys of which a limit reads a few rows. */
class LimitedJoinsSuite extends SmallSidesTest {

  private val Dense = "r.p >= l.p"
  private val Patient = Sizes :+ (RangeJoinConf.FirstRowsTimeout.key -> "60s")

  /** Runs a query that a limit ends, and checks that its rows are some of all. */
  private def ran(from: String, settings: (String, String)*)(most: Int): DataFrame =
    withConf(Patient ++ settings: _*) {
      val all = withConf(Flag -> "false")(rows(sql(s"SELECT l.id + 0, r.id, r.p FROM $from")))
      val df = sql(s"SELECT l.id + 0, r.id, r.p FROM $from LIMIT $most")
      for (_ <- 1 to 2) {
        val found = rows(df)
        assert(found.size == math.min(most, all.size), executedPlan(df))
        assert(found.diff(all).isEmpty, executedPlan(df))
      }
      df
    }

  private def isOfSpark(df: DataFrame): Boolean = {
    assert(nodes[ProbeExec](df).isEmpty && nodes[DeferShuffleExec](df).isEmpty, executedPlan(df))
    val products = collect(executedPlan(df)) { case product: CartesianProductExec => product }
    assert(products.isEmpty == (bucketNodes(df).size == 2), executedPlan(df))
    products.nonEmpty
  }

  test("rows that stock Spark's join finds at once are not shuffled for") {
    views()
    for (most <- Seq(1, 5)) {
      assert(isOfSpark(ran(s"l JOIN r ON $Dense")(most)))
      assert(isOfSpark(ran(s"l JOIN (SELECT * FROM r WHERE g <> 3) r ON $Dense")(most)))
      assert(isOfSpark(ran(s"(SELECT * FROM l WHERE g < 4) l JOIN r ON $Band")(most)))
    }
    // Once what is below a shuffle has been done.
    val grouped = "(SELECT id, max(p) AS p FROM l GROUP BY id)"
    assert(isOfSpark(ran(s"$grouped l JOIN r ON $Dense")(5)))
    val df = ran(s"l JOIN r ON $Dense")(5)
    assert(only(JoinReports.of(executedPlan(df))).reason.contains(Reason.FirstRows))
  }

  test("rows that it does not find in its first task, or not in time, are found by buckets") {
    views()
    assert(!isOfSpark(ran("l JOIN r ON r.p BETWEEN l.p + 5000 AND l.p + 5004")(5)))
    assert(!isOfSpark(ran("l JOIN r ON r.p BETWEEN l.p + 990 AND l.p + 995")(5)))
    // More than all pairs.
    assert(!isOfSpark(ran(s"l JOIN r ON $Band")(1000000)))
    spark.udf.register("slowly", udf((id: Long) => { Thread.sleep(20); id >= 0 }))
    val slow = s"l JOIN (SELECT * FROM r WHERE slowly(id)) r ON $Dense"
    assert(!isOfSpark(ran(
      slow,
      RangeJoinConf.FirstRowsTimeout.key -> "10ms",
      RangeJoinConf.WriteOnce.key -> "false")(5)))
  }

  test("what is not tried") {
    views()
    assert(!isOfSpark(ran(s"l JOIN r ON $Dense", RangeJoinConf.FirstRowsTimeout.key -> "0")(5)))
    assert(!isOfSpark(ran(s"l JOIN r ON $Dense", RangeJoinConf.DeferShuffle.key -> "false")(5)))
    assert(!isOfSpark(
      ran(s"l JOIN r ON $Dense", SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")(5)))
    assert(!isOfSpark(ran(s"l JOIN r ON $Dense", SQLConf.EXCHANGE_REUSE_ENABLED.key -> "false")(5)))
    assert(!isOfSpark(ran(s"l LEFT JOIN r ON $Band")(5)))
    withConf(Patient: _*) {
      def isBucketed(query: String): Boolean = {
        val df = sql(query)
        assertSameRows(rows(df), withConf(Flag -> "false")(rows(sql(query))), query)
        !isOfSpark(df)
      }
      assert(isBucketed(s"SELECT count(*) FROM l JOIN r ON $Dense LIMIT 5"))
      assert(isBucketed(s"SELECT count(*) FROM (SELECT l.id FROM l JOIN r ON $Dense LIMIT 5)"))
      assert(isBucketed(s"SELECT l.id, r.id FROM l JOIN r ON $Dense ORDER BY 1, 2 LIMIT 5"))
      val hinted = sql(s"SELECT /*+ RANGE_JOIN(r) */ l.id, r.id FROM l JOIN r ON $Dense LIMIT 5")
      assert(hinted.collect().length == 5 && !isOfSpark(hinted))
    }
  }

  test("an error of a row is that of the query") {
    views()
    withConf(Patient :+ (SQLConf.ANSI_ENABLED.key -> "true"): _*) {
      val query = s"SELECT l.id, r.id FROM l JOIN (SELECT * FROM r WHERE 1 / (id - 1) < 2) r " +
        s"ON $Dense LIMIT 5"
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        assert(intercept[Exception](sql(query).collect()).toString.contains("DIVIDE_BY_ZERO"))
      }
    }
  }
}
