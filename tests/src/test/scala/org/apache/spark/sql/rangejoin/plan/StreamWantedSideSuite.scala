// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec

import org.scalatest.tagobjects.Slow

/** Of two small sides of an inner join Spark broadcasts the smaller one, here `l`, whatever is made of the pairs. */
class StreamWantedSideSuite extends RangeJoinTest {

  private val Broadcast = SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"

  private def side(name: String, rows: Long): Unit = spark.range(0, rows, 1, 2)
    .selectExpr(
      "id",
      "IF(id % 13 = 5, NULL, id % 40) AS k",
      s"pmod(hash(id, '$name'), 3000) AS t",
      "id * 3 AS v")
    .createOrReplaceTempView(name)

  /** Sides of 20 KB or more, by what Spark estimates, and of as many times that. */
  private def views(times: Int = 2): Unit = {
    side("l", 3000)
    side("r", 3000L * times)
  }

  /** Runs a query of one join, and compares its rows; whether it streams `l`. */
  private def streamsLeft(query: String): Boolean = {
    // With a broadcast, stock Spark compares the pairs in generated code.
    val expected = withConf(Flag -> "false", Broadcast)(rows(spark.sql(query)))
    val streams = for (engine <- nextEngine) yield withConf(engine :+ Broadcast: _*) {
      val df = spark.sql(query)
      val found = rows(df)
      val plan = executedPlan(df)
      assertSameRows(found, expected, s"$query\n$plan")
      val join = only(nodes[BroadcastRangeJoinExec](df))
      join.streamedPlan.eq(join.left)
    }
    assert(streams.distinct.size == 1, query)
    streams.head
  }

  private def joined(on: String, columns: String = "r.v, r.t AS rt", hint: String = ""): String =
    s"""(SELECT $hint left_side, l.k, l.t, $columns FROM (SELECT id AS left_side, k, t FROM l) l
       |JOIN r ON $on)""".stripMargin

  private val NoKey = "r.t < l.t AND r.t > l.t - 40"
  private val Keyed = "r.k = l.k AND r.t <= l.t"

  test("what aggregates matches, or ranks them, streams the side that it groups by") {
    views()
    def queries(on: String) = Seq(
      s"SELECT left_side, count(*), sum(v) FROM ${joined(on)} GROUP BY left_side",
      s"SELECT t + 1 AS t1, sum(v + 1) FROM ${joined(on)} GROUP BY t + 1",
      s"SELECT left_side, max(rt) FROM ${joined(on)} GROUP BY left_side",
      s"""SELECT left_side, rt FROM (SELECT *, rank() OVER (PARTITION BY left_side ORDER BY rt DESC) AS n
         |FROM ${joined(on)}) WHERE n <= 2""".stripMargin
    )
    for (query <- queries(NoKey)) assert(streamsLeft(query), query)
    // With a key Spark's join may be fast, and its choice stays.
    for (query <- oneIn(2)(queries(Keyed))) assert(!streamsLeft(query), query)
  }

  test("of all pairs, and of what is wanted for the larger side, Spark's choice stays", Slow) {
    views()
    for (on <- oneIn(2)(Seq(NoKey, Keyed))) {
      assert(!streamsLeft(s"SELECT * FROM ${joined(on)}"))
      assert(!streamsLeft(s"SELECT v, sum(left_side) FROM ${joined(on)} GROUP BY v"))
      assert(
        !streamsLeft(s"SELECT count(*) FROM ${joined(on)} WHERE left_side + v <> 0 GROUP BY v"))
      assert(!streamsLeft(
        s"SELECT left_side, sum(v + t) FROM ${joined(on)} GROUP BY left_side"))
    }
  }

  test("a side that is far larger is broadcast where a range holds half of all pairs", Slow) {
    views(times = 6)
    def sums(on: String) = s"SELECT left_side, sum(v) FROM ${joined(on)} GROUP BY left_side"
    assert(streamsLeft(sums("r.t <= l.t")))
    assert(!streamsLeft(sums(NoKey)))
    assert(!streamsLeft(sums(Keyed)))
    side("l", 10)
    assert(!streamsLeft(sums("r.t <= l.t")))
  }

  test("a side of unknown size is not broadcast", Slow) {
    views()
    val sums = s"SELECT left_side, sum(v) FROM ${joined(NoKey)} GROUP BY left_side"
    spark.table("r").select("v", "t").createOrReplaceTempView("r")
    assert(streamsLeft(sums))
    spark.sql(
      "SELECT v, t FROM r LATERAL VIEW explode(array(1)) AS x").createOrReplaceTempView("r2")
    assert(!streamsLeft(sums.replace("JOIN r ", "JOIN r2 AS r ")))
    val greatest = s"SELECT left_side, max(v) FROM ${joined(NoKey)} GROUP BY left_side"
    assert(streamsLeft(greatest))
    spark.sql("SELECT string(v) AS v, t FROM r").createOrReplaceTempView("r3")
    assert(!streamsLeft(greatest.replace("JOIN r ", "JOIN r3 AS r ")))
  }

  test("hints, settings and conditions that leave pairs to be asked keep Spark's choice", Slow) {
    views()
    def sums(on: String = NoKey, hint: String = "") =
      s"SELECT left_side, count(v) FROM ${joined(on, hint = hint)} GROUP BY left_side"
    assert(streamsLeft(sums()))
    assert(!streamsLeft(sums(hint = "/*+ BROADCAST(l) */")))
    assert(!streamsLeft(sums(on = s"$NoKey AND r.v % 5 <> l.t % 5")))
    withConf("spark.sql.join.aggregatedMatches.enabled" -> "false")(assert(!streamsLeft(sums())))
  }
}
