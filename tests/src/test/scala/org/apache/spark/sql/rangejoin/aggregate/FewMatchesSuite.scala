// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.execution.{InputAdapter, SubqueryExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec

import org.scalatest.tagobjects.Slow

/** Where no key of a broadcast side has more than a few rows, adaptive execution has pairs aggregated. */
class FewMatchesSuite extends RangeJoinTest {

  /** Right rows of 50 keys, so many of each, and those of one more key. */
  private def sides(rowsOfKey: Int, ofOther: Int = 0): Unit = {
    spark.range(0, 600, 1, 3).selectExpr(
      "id",
      "id * 7 % 60 AS k",
      "IF(id % 13 = 0, NULL, id % 90) AS t",
      "id % 4 AS g").createOrReplaceTempView("l")
    val other = s"SELECT id + 1000 AS id, 55 AS k FROM range($ofOther)"
    spark.sql(s"""SELECT *, id * 11 % 80 AS t, CONCAT('x', id % 7) AS s, id / 8 AS d FROM
      (SELECT id, id % 50 AS k FROM range(${50 * rowsOfKey}) UNION ALL $other)""")
      .createOrReplaceTempView("r")
  }

  private val Functions = "count(*), count(r.t), sum(r.id), avg(r.d), max(l.id)"

  private def query(
      columns: String = Functions,
      joinType: String = "JOIN",
      clauses: String = ""): String =
    s"SELECT /*+ BROADCAST(r) */ $columns FROM l $joinType r ON l.k = r.k AND r.t <= l.t $clauses"

  private def check(query: String, areFew: Boolean, isAdaptive: Boolean = true): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    assert(expected.nonEmpty)
    val adaptive = SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> isAdaptive.toString
    for (engine <- nextEngine) withConf(engine :+ adaptive: _*) {
      val df = spark.sql(query)
      assert(nodes[AggregateMatchesExec](df).nonEmpty, executedPlan(df))
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(nodes[AggregateMatchesExec](df).isEmpty == areFew, executedPlan(df))
      val joins = nodes[BroadcastRangeJoinExec](df)
      assert(joins.nonEmpty && joins.forall(isFused(_) == areFew), executedPlan(df))
    }
  }

  /** Whether the code of a join goes on with that of its streamed side. */
  private def isFused(join: BroadcastRangeJoinExec): Boolean = join.streamedPlan match {
    case _: CodegenBoundaryExec | InputAdapter(_: CodegenBoundaryExec) => false
    case _                                                             => true
  }

  private val Grouped =
    Seq("", "GROUP BY g", "GROUP BY l.t, g", "GROUP BY CUBE (g, l.t)", "GROUP BY g + 1")

  test("pairs are aggregated where each key has a few rows") {
    for ((rowsOfKey, joinType) <- Seq(1 -> "LEFT JOIN", 4 -> "JOIN")) {
      sides(rowsOfKey)
      for (clauses <- oneIn(2)(Grouped))
        check(query(joinType = joinType, clauses = clauses), areFew = true)
    }
    sides(rowsOfKey = 16)
    check(query(), areFew = true)
  }

  test("matches are aggregated in the join where a key has more rows") {
    sides(rowsOfKey = 1, ofOther = 5)
    for (clauses <- Grouped.tail) check(query(clauses = clauses), areFew = false)
    sides(rowsOfKey = 1, ofOther = 17)
    check(query(), areFew = false)
  }

  test("of functions that Spark aggregates by sorted rows, and of filters", Slow) {
    sides(rowsOfKey = 3)
    for (clauses <- Grouped) {
      check(query("min(r.s), count(*)", clauses = clauses), areFew = true)
      check(
        query("sum(r.id) FILTER (WHERE r.id % 3 = 1), count(*)", clauses = clauses),
        areFew = true)
    }
  }

  test("pairs are aggregated where no shuffle is between the aggregates") {
    sides(rowsOfKey = 1)
    // Rows of `range` are partitioned by their number.
    check(query(clauses = "GROUP BY l.id"), areFew = true)
    spark.table("l").coalesce(1).createOrReplaceTempView("l")
    check(query(clauses = "GROUP BY g"), areFew = true)
    check(query(), areFew = true)
  }

  test("matches are aggregated in the join where the index is not known before it runs") {
    sides(rowsOfKey = 1)
    for (clauses <- Grouped.take(2))
      check(query(clauses = clauses), areFew = false, isAdaptive = false)
  }

  test("a subquery of two functions runs once") {
    sides(rowsOfKey = 2)
    val greatest = "(SELECT max(id) FROM r)"
    val twice = query(s"sum(r.id + $greatest), max(r.t * $greatest)", clauses = "GROUP BY g")
    check(twice, areFew = true)
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true") {
      val df = spark.sql(twice)
      df.collect()
      assert(nodes[SubqueryExec](df).distinct.size == 1, executedPlan(df))
    }
  }

  test("of joins over joins", Slow) {
    sides(rowsOfKey = 2)
    val joined = "SELECT l.*, q.id AS q FROM l JOIN r AS q ON l.k = q.k AND q.t <= l.t"
    for (clauses <- Grouped)
      check(
        query(
          "count(*), sum(r.id), max(q)",
          clauses = clauses).replace("FROM l", s"FROM ($joined) l"),
        areFew = true)
  }
}
