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
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec

/** A side whose rows cost more to make than to write is made once. */
class CostlySideSuite extends SmallSidesTest {

  private val Intervals = "r.p BETWEEN l.p AND l.p + l.g"

  private val Joins = Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")

  /** Runs a query with the flag on; how often it has called the function `costly`. */
  private def counted(query: => DataFrame): (DataFrame, Long) = {
    val count = spark.sparkContext.longAccumulator
    spark.udf.register("costly", udf { (id: Long) => count.add(1); id })
    val df = query
    df.collect()
    (df, count.value)
  }

  private def costly(name: String, filter: String = "costly(id) >= 0") =
    s"(SELECT * FROM $name WHERE $filter) $name"

  /** Exchanges that write the rows of a side once. */
  private def writes(df: DataFrame): Seq[ShuffleExchangeExec] =
    collectWithSubqueries(executedPlan(df)) {
      case e: ShuffleExchangeExec if e.outputPartitioning.isInstanceOf[RoundRobinPartitioning] => e
    }

  private def checkRows(df: DataFrame, query: => DataFrame): Unit =
    assertSameRows(rows(df), withConf(Flag -> "false")(rows(query)), executedPlan(df).toString)

  test("a function that a user has written is called once for each row of its side") {
    views()
    for {
      threshold <- Seq("-1", "1000")
      joined <- Joins
      (left, right, sides) <-
        Seq((costly("l"), "r", 1), ("l", costly("r"), 1), (costly("l"), costly("r"), 2))
    } withConf(Sizes :+ (SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> threshold): _*) {
      def query = sql(s"SELECT * FROM $left $joined $right ON $Intervals")
      val (df, calls) = counted(query)
      assert(bucketNodes(df).size == 2 && rangeJoins(df).size == 1, executedPlan(df))
      assert(writes(df).size == sides, executedPlan(df))
      assert(calls == 500 * sides, s"$left $joined $right")
      checkRows(df, query)
    }
  }

  test("a costly side that turns out small is broadcast, and made once") {
    views()
    for (joined <- Seq("JOIN", "LEFT JOIN", "LEFT ANTI JOIN")) withConf(Sizes: _*) {
      def query =
        sql(s"SELECT * FROM l $joined ${costly("r", "costly(id) % 50 = 1")} ON $Intervals")
      val (df, calls) = counted(query)
      assert(collect(executedPlan(df)) { case join: BroadcastRangeJoinExec => join }.size == 1)
      assert(bucketNodes(df).isEmpty && calls == 500, executedPlan(df))
      checkRows(df, query)
    }
  }

  test("regular expressions, hashes and JSON are costly; comparisons and arithmetic are not") {
    views()
    withConf(Sizes: _*) {
      def query(filter: String) =
        sql(s"SELECT * FROM l LEFT JOIN ${costly("r", filter)} ON $Intervals")
      for {
        filter <- Seq(
          "string(id) RLIKE '[0-9]+'",
          "sha2(string(id), 256) <> ''",
          "get_json_object(string(id), '$.a') IS NULL",
          "exists(array(id, p), x -> x >= 0)")
      } {
        val df = query(filter)
        checkRows(df, query(filter))
        assert(writes(df).size == 1 && bucketNodes(df).size == 2, executedPlan(df))
      }
      for (filter <- Seq("id % 50 <> 1", "string(id) LIKE '%1%' OR id > 0", "id + p > -1")) {
        val df = query(filter)
        checkRows(df, query(filter))
        assert(writes(df).isEmpty && bucketNodes(df).size == 2, executedPlan(df))
      }
    }
  }

  test("the same costly side twice, one that is shuffled below, and a limit above") {
    views()
    withConf(Sizes: _*) {
      def twice =
        sql(s"SELECT * FROM ${costly("l")} JOIN (SELECT id, p FROM l WHERE costly(id) >= 0) r ON $Intervals")
      checkRows(counted(twice)._1, twice)
      def grouped = sql(s"""SELECT * FROM l LEFT JOIN
        (SELECT costly(id) AS id, max(p) AS p FROM r GROUP BY id) r ON $Intervals""")
      val (df, calls) = counted(grouped)
      checkRows(df, grouped)
      assert(calls == 500, executedPlan(df))
      def limited = sql(s"SELECT l.id FROM ${costly("l")} LEFT JOIN r ON $Intervals LIMIT 3")
      assert(counted(limited)._1.collect().length == 3)
    }
  }

  test("without adaptive execution, or where stages are not reused, no side is written") {
    views()
    for {
      off <- Seq(SQLConf.ADAPTIVE_EXECUTION_ENABLED, SQLConf.EXCHANGE_REUSE_ENABLED)
    } withConf(Sizes :+ (off.key -> "false"): _*) {
      def query = sql(s"SELECT * FROM l LEFT JOIN ${costly("r")} ON $Intervals")
      val (df, _) = counted(query)
      assert(writes(df).isEmpty && bucketNodes(df).size == 2, executedPlan(df))
      checkRows(df, query)
    }
  }
}
