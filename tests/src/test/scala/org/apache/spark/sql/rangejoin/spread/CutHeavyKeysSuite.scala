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
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._
import org.apache.spark.sql.rangejoin.{JobsTest, RangeJoinConf}

/** Heavy keys in plans that are not adaptive. */
class CutHeavyKeysSuite extends HeavyKeysTest with JobsTest {

  /** Tasks as elsewhere, without adaptive execution. */
  private val Static: Settings = BySize :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false")

  private def prepared(df: DataFrame): Seq[CutHeavyKeysExec] =
    collect(executedPlan(df)) { case node: CutHeavyKeysExec => node }

  /** The plan may be cut, and is not when its shuffles have run. */
  private def assertEven(df: DataFrame, why: String): Unit = {
    assert(prepared(df).size == 2 && shuffles(df).isEmpty, executedPlan(df))
    assert(prepared(df).forall(_.simpleString(100).contains(s"not cut: $why")), executedPlan(df))
  }

  test("a hot key is divided, and the rest of the shuffle is left alone") {
    views(Hot)
    val df = ran(s"SELECT l.id, r.id FROM l JOIN r ON $Band", Static)
    val nodes = shuffles(df)
    assert(nodes.size == 2 && prepared(df).size == 2, executedPlan(df))
    assert(nodes.map(_.isOwner).toSet == Set(true, false))
    assert(nodes.forall(_.metrics("numHeavyKeys").value == 1))
    assert(nodes.forall(_.spread.get.partitions == 1))
    val buckets = nodes.head.metrics("numBuckets").value
    assert(buckets >= 5 && buckets <= 10, buckets)
    val records = nodes.map(_.metrics("shuffleRecordsWritten").value).sum
    assert(records >= 4000 && records < 6000, records)
    // Both sides are divided in the same way.
    val partitions = withConf(Static: _*)(nodes.map(_.execute().getNumPartitions).distinct)
    val places = nodes.head.spread.get.plan.layout.numPlaces
    assert(partitions == Seq(places + 15), partitions)
    val text = executedPlan(df).toString
    assert(text.contains("CutHeavyKeys [k") && text.contains("1 keys in"), text)
    // EXPLAIN does not run the shuffles.
    withConf(Static: _*) {
      val explained = sql(s"SELECT l.id, r.id FROM l JOIN r ON $Band")
      assert(prepared(explained).size == 2 && !formatted(explained).contains("keys in"))
    }
  }

  test("every join type, many keys, and little data") {
    views(Hot, 1000)
    for (joinType <- BucketTypes) {
      val text = joinType match {
        case Existence =>
          s"SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $Band) OR l.p < 9"
        case LeftSemi | LeftAnti => s"SELECT l.id FROM l $joinType JOIN r ON $Band"
        case _                   => s"SELECT l.id, r.id FROM l $joinType JOIN r ON $Band"
      }
      assert(shuffles(ran(text, Static)).size == 2, joinType)
    }
    val text = s"SELECT l.id, r.id FROM l JOIN r ON $Band"
    def isStock(setting: (String, String)) = {
      val df = ran(text, Static :+ setting)
      assert(prepared(df).isEmpty && rangeJoins(df).size == 1, executedPlan(df))
    }
    // Spark knows that the tables are smaller than that, or nobody wants it.
    isStock(RangeJoinConf.SpreadKeysThreshold.key -> "1g")
    isStock(RangeJoinConf.SpreadKeys.key -> "false")
    isStock(SQLConf.SKEW_JOIN_ENABLED.key -> "false")
    views("id % 500")
    assertEven(ran(text, Static), "no partition is far too large")
    views(Hot, 400, "int(id / 1000000)")
    assertEven(ran(text, Static), "there are no ranges to cut by")
  }

  test("where rows have to stay together, or the first are asked for") {
    views(Hot)
    val join = s"SELECT l.id, l.k, l.p, r.id AS other FROM l JOIN r ON $Band"
    def left(text: String): Unit = {
      val df = ran(text, Static)
      assert(prepared(df).isEmpty && rangeJoins(df).nonEmpty, executedPlan(df))
    }
    left(s"SELECT k, count(*) FROM ($join) GROUP BY k")
    left(s"SELECT id, row_number() OVER (PARTITION BY k ORDER BY id, other) AS n FROM ($join)")
    left(s"SELECT l.id, r.id FROM l FULL JOIN r ON $Band")
    left("""SELECT l.id, r.id FROM l LEFT JOIN r
           |ON l.k = r.k AND r.p BETWEEN l.p AND l.p + (SELECT max(id) FROM range(7))""".stripMargin)
    withConf(Static: _*) {
      val first = sql(s"$join LIMIT 5")
      assert(first.collect().length == 5)
      assert(prepared(first).isEmpty && rangeJoins(first).nonEmpty, executedPlan(first))
    }
    for (text <- Seq(
        s"SELECT p, count(*) FROM ($join) GROUP BY p",
        s"SELECT other, count(*) AS n FROM ($join) GROUP BY other ORDER BY n, other LIMIT 5",
        s"SELECT count(*) FROM ($join)",
        s"SELECT /*+ REPARTITION(3) */ * FROM ($join)"
      )) assert(shuffles(ran(text, Static)).size == 2, text)
    // What needs all rows in one task has them from one shuffle partition, without a shuffle of its own.
    val one = Static ++ Seq(SQLConf.SHUFFLE_PARTITIONS.key -> "1", Buckets -> "7")
    assert(prepared(ran(s"SELECT count(*), sum(other) FROM ($join)", one)).isEmpty)
    assert(shuffles(ran(join, one)).size == 2)
  }

  test("joins of joins, self joins, subqueries, reuse, and a cache") {
    views(Hot, 1000)
    checkSelfJoin(Static)
    assert(shuffles(ran(s"$SelfJoin UNION ALL $SelfJoin", Static)).size == 4)
    val joined = ran(
      s"""SELECT x.a, x.b, m.id FROM (SELECT l.id AS a, r.id AS b, l.p AS p FROM l JOIN r ON $Band) x
         |JOIN l m ON m.id % 2 = x.a % 2 AND m.p BETWEEN x.p AND x.p + 9""".stripMargin,
      Static
    )
    assert(shuffles(joined).size == 4, executedPlan(joined))
    val above = ran(
      s"""WITH x AS (SELECT l.p, count(*) AS n FROM l JOIN r ON $Band GROUP BY l.p)
         |SELECT a.p, a.n, b.n FROM x a JOIN x b ON a.p = b.p""".stripMargin,
      Static
    )
    assert(shuffles(above).size == 2, executedPlan(above))
    assert(collect(executedPlan(above)) { case e: ReusedExchangeExec => e }.size == 1)
    val within = ran(
      s"SELECT id FROM l WHERE id < (SELECT count(*) / 9 FROM l JOIN r ON $Band)",
      Static)
    assert(collectWithSubqueries(executedPlan(within)) { case node: DividesRows => node }
      .count(_.spread.isDefined) == 2)
    checkAgain(Static) { df =>
      // Neither is shuffled again, nor sampled.
      assert(shuffles(df).map(_.metrics("shuffleRecordsWritten").value).sum < 1500)
    }
  }

  test("an error of a side is that of stock") {
    views(Hot, 1000)
    for (side <- Seq("l", "r")) {
      val failing = s"(SELECT id, k, p + assert_true(id < 900) AS p FROM $side) $side"
        .replace("p + assert_true(id < 900)", "IF(id < 900, p, raise_error('row ' || id) + p)")
      val text = if (side == "l") s"SELECT l.id FROM $failing JOIN r ON $Band"
      else s"SELECT l.id FROM l JOIN $failing ON $Band"
      def error(settings: (String, String)*): String =
        withConf(settings: _*)(intercept[Exception](sql(text).collect()).getMessage)
      val ours = error(Static: _*)
      val stocks = error(Static :+ (Flag -> "false"): _*)
      assert(ours.contains("row 9") && stocks.contains("row 9"), ours)
      assert(ours.linesIterator.next().take(30) == stocks.linesIterator.next().take(30))
    }
  }

  test("a repartition that the join has made superfluous is not undone") {
    views(Hot)
    withConf(Static: _*) {
      def join = sql(s"SELECT l.id, l.k, l.p FROM l LEFT SEMI JOIN r ON $Band")
      def isCut(df: DataFrame) = {
        val keys = execution(df).toRdd.mapPartitions(_.map(_.getInt(1)).toSet.iterator).collect()
        assert((keys.distinct.length < keys.length) == shuffles(df).nonEmpty, executedPlan(df))
        shuffles(df).nonEmpty
      }
      val k = col("k")
      assert(isCut(join))
      assert(!isCut(join.repartition(k)))
      assert(!isCut(join.where("id > 9").repartition(k).select("p", "k").where("p > 9")))
      // One that Spark has left in the plan.
      val apart = join.repartition(7, k)
      assert(rows(apart).size == rows(join).size && shuffles(apart).size == 2, executedPlan(apart))
    }
  }

  test("a query that has failed, or was cancelled, can be run again") {
    views(Hot, 1000)
    val text = s"SELECT l.id, r.id FROM (SELECT id, k, failing(p) AS p FROM l) l JOIN r ON $Band"
    for (query <- Seq(
        text,
        s"SELECT other, count(*) FROM (${text.replace("r.id", "r.id AS other")}) GROUP BY other"))
      for (isCancelled <- Seq(false, true)) withConf(Static: _*) {
        spark.udf.register("failing", (p: Long) => p)
        val expected = stock(query)
        spark.udf.register("failing", FailingFunction.function)
        FailingFunction.seconds = if (isCancelled) 30 else 0
        val df = sql(query)
        val jobs = startedJobs {
          val error = intercept[Exception](
            if (isCancelled) cancelled(rows(df)) else rows(df)).toString
          assert(error.contains(if (isCancelled) "SPARK_JOB_CANCELLED" else "not yet"), error)
        }
        assert(jobs.size == 1)
        FailingFunction.seconds = -1
        for (_ <- 1 to 2) assertSameRows(rows(df), expected, executedPlan(df).toString)
        assert(
          prepared(df).forall(_.simpleString(100).contains("not cut: the shuffles have failed")))
      }
  }

  test("of many joins, those are prepared that may be") {
    views(Hot, 1000)
    val free = s"SELECT l.p AS a, r.id AS b FROM l JOIN r ON $Band"
    val byKey = s"SELECT l.k AS a, count(*) AS b FROM l JOIN r ON $Band GROUP BY l.k"
    for (kinds <- Seq("ff", "kf", "fkf", "kk", "fkkfkff")) {
      val text = kinds.map(kind => if (kind == 'f') free else byKey).mkString(" UNION ALL ")
      val df = ran(text, Static)
      assert(shuffles(df).size == 2 * kinds.count(_ == 'f'), executedPlan(df))
      assert(rangeJoins(df).size == kinds.length)
    }
    val nested = s"""SELECT l.id, m.id FROM ($free) x
      JOIN l ON l.id = x.b AND l.p BETWEEN x.a - 900 AND x.a + 900
      JOIN (SELECT k, count(*) AS id FROM l GROUP BY k) m ON m.k = l.k"""
    assert(shuffles(ran(nested, Static)).size >= 2)
  }
}
