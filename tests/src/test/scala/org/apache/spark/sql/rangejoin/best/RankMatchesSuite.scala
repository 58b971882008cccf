// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.window.WindowExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Settings, TwoEngines}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

import org.scalatest.tagobjects.Slow

/** Rankings of rows that have a number of their own are made as matches come from the join. */
class RankMatchesSuite extends BestMatchesTest with TiedTables {
  import BestMatchesTest._

  /** Keys and times with ties among left rows, some NULL; the times of a key differ on the right side. */
  private def sides(left: Int = 150, right: Int = 200): Unit =
    tiedTables(left, right)("pmod(hash(id), 4) AS v")

  private val Numbered = "(SELECT *, monotonically_increasing_id() AS n FROM l)"

  private def ranked(
      limit: Int = 1,
      joinType: String = "LEFT",
      range: String = "r.t <= l.t",
      by: String = "r.t DESC",
      numbered: String = Numbered,
      partition: String = "l.k, l.n",
      function: String = "row_number()"
  ): String =
    s"""SELECT id, rt, v, s, rank FROM (
       |  SELECT l.id, l.k, l.n, r.t AS rt, r.v, r.s,
       |    $function OVER (PARTITION BY $partition ORDER BY $by) AS rank
       |  FROM $numbered l $joinType JOIN r ON l.k = r.k AND $range)
       |WHERE rank <= $limit""".stripMargin

  private def inPlace(df: DataFrame): Boolean = {
    val windows = nodes[WindowExec](df).size
    val ranks = nodes[RankMatchesExec](df).size
    assert(windows + ranks == 1, executedPlan(df))
    ranks == 1
  }

  /** Compares with stock Spark, and looks for what ranks, before and after the query has run. */
  private def checkRanks(
      query: String,
      isInPlace: Boolean = true,
      forms: Seq[Form] = Forms,
      settings: Settings = Nil
  ): Unit =
    assert(compare(query, forms, nextEngine.map(_ ++ settings))(inPlace(_) == isInPlace).nonEmpty)

  testOfCases("the first, and the first three, of all earlier and of all later rows", 2)(
    Seq(1, 3)) { limits =>
    sides()
    for (limit <- limits) {
      checkRanks(ranked(limit))
      checkRanks(ranked(limit, range = "r.t > l.t", by = "r.t"))
      checkRanks(ranked(
        limit,
        range = "r.t BETWEEN l.t - 30 AND l.t + 5",
        by = "abs(r.t - l.t), r.t"))
    }
  }

  test("rows that a residual refuses, and an order by several columns") {
    sides()
    checkRanks(ranked(2, range = "r.t <= l.t AND r.v <> l.v"))
    checkRanks(ranked(4, by = "r.t DESC, r.id", range = "r.t <= l.t AND r.v + l.v > 2"))
  }

  test("more ranks than a row has matches, and ranks of wide rows", Slow) {
    sides(left = 40)
    checkRanks(ranked(90))
    checkRanks(ranked(101), isInPlace = false)
  }

  test("a join whose window is on disk") {
    sides()
    checkRanks(
      ranked(2),
      forms = Seq(Form("MERGE(r)")),
      settings = Seq(
        SQLConf.SORT_MERGE_JOIN_EXEC_BUFFER_SPILL_THRESHOLD.key -> "1",
        SQLConf.SORT_MERGE_JOIN_EXEC_BUFFER_IN_MEMORY_THRESHOLD.key -> "1")
    )
  }

  test("the preserved side on the right") {
    sides()
    val mirrored =
      s"""SELECT id, rt, rank FROM (
         |  SELECT l.id, r.t AS rt, row_number() OVER (PARTITION BY l.n ORDER BY r.t DESC) AS rank
         |  FROM r RIGHT JOIN $Numbered l ON l.k = r.k AND r.t <= l.t)
         |WHERE rank <= 2""".stripMargin
    checkRanks(mirrored)
  }

  test(
    "a number through projections, filters and sorts, and without a key among the partition columns",
    Slow) {
    sides()
    val below = "(SELECT id, k, t, v, n AS m FROM " +
      s"(SELECT * FROM $Numbered SORT BY t) WHERE v > 0)"
    checkRanks(ranked(2, numbered = s"(SELECT id, k, t, v, m AS n FROM $below)"))
    checkRanks(ranked(2, partition = "l.n"))
  }

  test("what is not ranked in place", Slow) {
    sides()
    // Rows of a left side that is copied may be in several tasks.
    checkRanks(ranked(joinType = "INNER"), isInPlace = false)
    // Rows with one number.
    checkRanks(
      ranked(
        numbered = s"(SELECT a.*, n FROM $Numbered a JOIN (SELECT explode(sequence(1, 2))))",
        by = "r.t DESC, l.id"),
      isInPlace = false)
    checkRanks(ranked(numbered = "(SELECT *, id AS n FROM l)"), isInPlace = false)
    checkRanks(
      ranked(
        numbered = "(SELECT *, monotonically_increasing_id() % 50 AS n FROM l)",
        by = "r.t DESC, l.id"),
      isInPlace = false)
    checkRanks(ranked(function = "rank()"), isInPlace = false)
    withConf(RangeJoinConf.BestMatches.key -> "false") {
      checkRanks(ranked(), isInPlace = false)
    }
  }

  test("a total above that could use the shuffle of the ranking") {
    sides()
    val totals =
      s"""SELECT n, count(*), sum(rt) FROM (
         |  SELECT l.n, r.t AS rt, row_number() OVER (PARTITION BY l.n ORDER BY r.t DESC) AS rank
         |  FROM $Numbered l LEFT JOIN r ON l.k = r.k AND r.t <= l.t)
         |WHERE rank <= 2 GROUP BY n""".stripMargin
    assert(compare(totals, Forms, nextEngine)(nodes[RangeJoinExec](_).size == 1).nonEmpty)
  }

  testOfCases("LIMIT, and rows that are read again", 5)(
    for (form <- Forms; engine <- TwoEngines) yield (form, engine)) { cases =>
    sides()
    for ((form, engine) <- cases) withConf(form.settings ++ engine: _*) {
      val df = spark.sql(form.of(ranked()))
      assert(df.limit(7).collect().length == 7)
      val cached = df.cache()
      try assert(cached.count() == 150 && cached.collect().length == 150)
      finally cached.unpersist(blocking = true)
    }
  }
}
