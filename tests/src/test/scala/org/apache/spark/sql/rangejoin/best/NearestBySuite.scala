// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.{DataFrame, Row}

/** `NEAREST k BY`, over a broadcast and by range buckets: what may stand in it, around it and below it. */
class NearestBySuite extends BestMatchesTest {
  import BestMatchesTest._
  import NearestBySuite._

  private def claim(name: String)(body: => Unit): Unit =
    testWhere(SPARK_VERSION >= "4.2")(name) {
      Views.foreach(spark.sql)
      body
    }

  private def bestJoins(df: DataFrame): Int = collect(executedPlan(df)) {
    case join: RangeJoinExec if join.best.isDefined => join
  }.size

  private def check(query: String, joins: Int): Seq[String] =
    compare(query, Seq(Broadcast, byBuckets(3)), nextEngine)(bestJoins(_) == joins)

  testOfCases("join types, modes, numbers of rows and directions", 9)(Shapes) { shapes =>
    assume(SPARK_VERSION >= "4.2")
    Views.foreach(spark.sql)
    shapes.foreach(query => assert(check(query, joins = 1).nonEmpty))
  }

  for ((name, query) <- OneJoin)
    claim(name)(assert(check(query, joins = 1).nonEmpty == !name.startsWith("no row")))

  for ((name, query) <- WithoutRows) claim(name) {
    val found = compare(query, Seq(Broadcast, byBuckets(3)), nextEngine)(bestJoins(_) <= 1)
    assert(found.nonEmpty == name.startsWith("LEFT"))
  }

  for ((name, query) <- TwoJoins) claim(name)(assert(check(query, joins = 2).nonEmpty))

  for ((name, ranking) <- NoDistances) claim(s"left to Spark: by $name") {
    val query = nearest("l.id, r.id", ranking = ranking)
    assert(compare(query, Seq(Broadcast), nextEngine)(bestJoins(_) == 0).nonEmpty)
  }

  claim("a view of it") {
    spark.sql(s"CREATE OR REPLACE TEMP VIEW matched AS ${nearest("l.id, r.t")}")
    assert(check("SELECT id, max(t) FROM matched WHERE id > 1 GROUP BY id", joins = 1).nonEmpty)
  }

  claim("an IN of it") {
    val query = s"SELECT id FROM r WHERE id IN (${nearest("r.id", k = "1")})"
    assert(compare(query, Seq(Broadcast), nextEngine)(bestJoins(_) == 1).size == 3)
  }

  claim("of rows that tie, as many as are asked for") {
    val query = nearest("l.id, abs(l.t - tied.t)", right = "tied", ranking = "abs(l.t - tied.t)")
    assert(check(query, joins = 1).groupBy(_.head).map(_._2.size).toSet == Set(2))
  }

  claim("the nearest row of each comes first") {
    val query =
      "SELECT l.id, r.id FROM l LEFT JOIN r EXACT NEAREST 3 BY DISTANCE abs(l.t - r.t) WHERE l.id = 2"
    for (form <- Seq(Broadcast, byBuckets(3)); engine <- nextEngine)
      withConf(form.settings ++ engine: _*) {
        val df = spark.sql(query)
        assert(df.collect().toSeq == Seq(Row(2, 5), Row(2, 4), Row(2, 1)), executedPlan(df))
      }
  }

  claim("a ranking by chance gives one row of each") {
    val query = nearest("l.id", k = "1", ranking = "rand() + r.t")
    assert(compare(query, Seq(Broadcast), nextEngine)(bestJoins(_) == 0).size == 5)
  }

  claim("nothing is planned where crossed joins are not allowed") {
    for (flag <- Seq("true", "false"))
      withConf(Flag -> flag, "spark.sql.crossJoin.enabled" -> "false") {
        intercept[Exception](spark.sql(nearest("l.id, r.id")).collect())
      }
  }

  claim("a side that is too large to be broadcast is joined by buckets") {
    for ((form, isBroadcast) <- Seq(Broadcast -> true, byBuckets(3) -> false))
      withConf(form.settings: _*) {
        val join = only(collect(executedPlan(spark.sql(nearest("l.id, r.id")))) {
          case join: BaseJoinExec => join
        })
        assert((join.nodeName == "BroadcastRangeJoin") == isBroadcast, join)
      }
  }
}

object NearestBySuite {
  import BestMatchesTest.Form

  /** Times and ids of a side are all different, so that it is known which rows are the nearest; `tied` has three equal ones. */
  private val Views = Seq(
    "l" -> "(1, 10, 'a'), (2, 20, 'b'), (3, NULL, 'c'), (4, 100, 'd'), (5, 22, 'b')",
    "r" -> "(1, 12, 'a'), (2, 5, 'b'), (3, NULL, 'c'), (4, 23, 'b'), (5, 19, 'd')",
    "tied" -> "(1, 10, 'a'), (2, 10, 'b'), (3, 10, 'c')",
    "unknown" -> "(1, CAST(NULL AS INT), 'a'), (2, NULL, 'b')"
  ).map { case (name, rows) =>
    s"CREATE OR REPLACE TEMP VIEW $name AS SELECT * FROM VALUES $rows AS v(id, t, v)"
  }

  private val Broadcast = Form("", Seq("spark.sql.autoBroadcastJoinThreshold" -> "10MB"))

  private def nearest(
      shown: String,
      right: String = "r",
      joinType: String = "",
      mode: String = "EXACT",
      k: String = "2",
      direction: String = "DISTANCE",
      ranking: String = "abs(l.t - r.t)"): String =
    s"SELECT $shown FROM l $joinType JOIN $right $mode NEAREST $k BY $direction $ranking"

  private val Both = "l.id, r.id"

  private val Shapes: Seq[String] = for {
    (joinType, mode) <-
      Seq("" -> "EXACT", "INNER" -> "APPROX", "LEFT" -> "APPROX", "LEFT OUTER" -> "EXACT")
    (direction, ranking) <- Seq("DISTANCE" -> "abs(l.t - r.t)", "SIMILARITY" -> "-abs(r.t - l.t)")
    k <- Seq("", "1", "3", "100")
  } yield nearest(Both, "r", joinType, mode, k, direction, ranking)

  private val OneJoin: Seq[(String, String)] = Seq(
    "every column" -> nearest("*", joinType = "LEFT"),
    "no column of the right side" -> nearest("l.id", joinType = "LEFT"),
    "rows on both sides that are equal" -> nearest(
      "l.id, tied.t",
      right = "tied",
      joinType = "LEFT",
      k = "3",
      ranking = "abs(l.t - tied.t)"),
    "no row with a rank" -> nearest(
      "l.id, unknown.id",
      right = "unknown",
      ranking = "abs(l.t - unknown.t)"),
    "LEFT, and none with a rank" -> nearest(
      "l.id, unknown.id",
      right = "unknown",
      joinType = "LEFT",
      ranking = "abs(l.t - unknown.t)"),
    "a table with itself" -> "SELECT a.id, b.id FROM l AS a JOIN l AS b EXACT NEAREST 1 BY DISTANCE abs(a.t - b.t)",
    "names of columns and tables of its own" -> ("SELECT a.x, b.y, when FROM l AS a(x, t, v) LEFT JOIN r AS b(y, when, w) " +
      "EXACT NEAREST 2 BY DISTANCE abs(a.t - b.when)"),
    "sides that are queries" -> ("SELECT * FROM (SELECT id, t + 1 AS t FROM l WHERE v <> 'a') l JOIN " +
      "(SELECT max(id) AS id, v, max(t) AS t FROM r GROUP BY v) r EXACT NEAREST 2 BY DISTANCE abs(l.t - r.t)"),
    "a query of it" -> s"SELECT id, count(*) FROM (${nearest("l.id, r.t")}) GROUP BY id",
    "a table expression" -> s"WITH n AS (${nearest("l.id, r.t, r.v")}) SELECT id, max(t) FROM n GROUP BY id",
    "a condition on the left side above" -> s"${nearest(Both)} WHERE l.id > 1",
    "a condition on the right side above" -> s"${nearest(Both)} WHERE r.v <> 'b'",
    "a condition on both sides above" -> s"${nearest(Both)} WHERE abs(l.t - r.t) < 3",
    "rows of the right side that are no match" -> s"${nearest(Both, joinType = "LEFT")} WHERE r.id IS NULL",
    "a LIMIT of an order" -> s"${nearest(Both)} ORDER BY l.id DESC, r.id LIMIT 3",
    "distinct rows" -> nearest("DISTINCT r.v"),
    "nested values" -> nearest(
      "l.id, s.a, s.b",
      right = "(SELECT t, array(v, v) AS a, struct(id, v) AS b FROM r) s")
      .replace("r.t", "s.t"),
    "a window above" -> nearest("l.id, r.id, row_number() OVER (PARTITION BY l.id ORDER BY r.id)")
  )

  /** Adaptive execution takes the join out of the plan. */
  private val WithoutRows: Seq[(String, String)] = Seq(
    "no row on the right" -> nearest(Both, right = "(SELECT * FROM r WHERE id < 0) r"),
    "LEFT, and none on the right" -> nearest(
      Both,
      right = "(SELECT * FROM r WHERE id < 0) r",
      joinType = "LEFT"),
    "no row on the left" -> ("SELECT l.id, r.id FROM (SELECT * FROM l WHERE id < 0) l LEFT JOIN r " +
      "EXACT NEAREST 2 BY DISTANCE abs(l.t - r.t)")
  )

  private val TwoJoins: Seq[(String, String)] = Seq(
    "one after the other" -> (s"${nearest("l.id, r.id, tied.t")} JOIN tied EXACT NEAREST 2 BY DISTANCE abs(r.t - tied.t)"),
    "a union of two" -> (s"${nearest(Both)} UNION ALL ${nearest(Both, direction = "SIMILARITY", ranking = "-abs(l.t - r.t)")}"),
    "a join with another" -> (s"SELECT * FROM (${nearest("l.id, r.v AS a")}) JOIN (${nearest("l.id, r.v AS b", k = "1")}) USING (id)")
  )

  /** Rankings that are no distance of a column of either side. */
  private val NoDistances: Seq[(String, String)] = Seq(
    "a difference of casts" -> "abs(CAST(l.t AS DOUBLE) - r.t)",
    "a product" -> "l.t * r.t",
    "a column of the right side" -> "r.t",
    "strings" -> "concat(l.v, r.v, r.id)",
    "a distance of words" -> "struct(levenshtein(l.v, r.v), r.id)",
    "the farthest" -> "-abs(l.t - r.t)"
  )
}
