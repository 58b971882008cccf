// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

import org.scalatest.tagobjects.Slow

/** Correlated subqueries for the first rows of a range. */
class CorrelatedRowsSuite extends RangeJoinTest {

  private def side(name: String, rows: Int, seed: Int): Unit = {
    val random = new Random(seed)
    val values = Seq.tabulate(rows) { id =>
      val t = if (random.nextInt(20) == 0) "NULL" else random.nextInt(60).toString
      val k = if (random.nextInt(20) == 0) "NULL" else random.nextInt(3).toString
      s"($id, $k, $t, ${random.nextInt(5)})"
    }
    spark.sql(s"SELECT * FROM VALUES ${values.mkString(", ")} AS v(id, k, t, v)")
      .createOrReplaceTempView(name)
  }

  private def sides(seed: Int): Unit = {
    side("l", 50, seed)
    side("r", 120, seed + 1)
  }

  private def best(df: DataFrame): Seq[Boolean] = collect(executedPlan(df)) {
    case join: RangeJoinExec => join.best.isDefined
    case _: BaseJoinExec     => false
  }

  private def check(query: String, joins: Int = 1): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- nextEngine) withConf(engine: _*) {
      val df = spark.sql(query)
      val clue = s"$query\n${executedPlan(df)}"
      assert(best(df).count(identity) == joins, clue)
      if (joins > 0) assert(best(df).size == joins, clue)
      assertSameRows(rows(df), expected, clue)
    }
  }

  private val Range = "r.k = l.k AND r.t <= l.t"

  test("the least and the greatest struct, whose fields may be NULL") {
    sides(31)
    // There are rows of l whose key or t is NULL, and rows without a match.
    for ((distance, joined, served) <- Seq(
        ("abs(l.t - r.t)", "r.k = l.k", 3),
        ("-abs(l.t - r.t)", "r.k = l.k", 2),
        ("l.t - r.t", "r.k = l.k AND r.t <= 40", 5),
        ("abs(l.t - r.t)", "r.k = l.k + 1 AND r.t < 50", 3)
      )) {
      val queries = Seq(
        "min(struct(d, id))",
        "max(struct(d, id))",
        "min_by(v, struct(d, id))",
        "max_by(id, struct(d, id))",
        "coalesce(min_by(id, struct(d, id)), -1)").map(function =>
        s"SELECT l.id, (SELECT $function FROM (SELECT $distance AS d, r.id, r.v FROM r " +
          s"WHERE $joined AND r.t IS NOT NULL)) AS found FROM l")
      val areServed = for (query <- queries) yield nextEngine.forall(withConf(_: _*) {
        val df = spark.sql(query)
        assertAsStock(df, spark.sql(query))
        best(df).contains(true)
      })
      assert(areServed.count(identity) == served, s"$distance: $areServed")
    }
  }

  testOfCases("LATERAL with an order and a limit", 3)(
    for (limit <- 1 to 3; join <- Seq("CROSS JOIN LATERAL", "LEFT JOIN LATERAL"))
      yield (limit, join)) { cases =>
    assume(hasCorrelatedLimits)
    sides(1)
    for ((limit, join) <- cases) {
      val on = if (join.startsWith("LEFT")) " ON true" else ""
      def lateral(rows: String) = s"SELECT l.id, s.* FROM l $join ($rows) AS s$on"
      val all = Seq(
        s"SELECT r.id AS rid, r.t FROM r WHERE $Range ORDER BY r.t DESC, r.id LIMIT $limit",
        s"SELECT r.t - l.t AS d, 7 AS seven, l.v FROM r WHERE $Range ORDER BY t DESC LIMIT $limit",
        s"SELECT * FROM r WHERE r.k = l.k AND r.t > l.t AND r.v <> 2 ORDER BY r.t, id DESC LIMIT $limit",
        s"SELECT rt FROM (SELECT t AS rt, k AS rk FROM r WHERE v < 4) WHERE rk = l.k AND rt >= l.t " +
          s"ORDER BY rt LIMIT $limit",
        s"SELECT max(r.t), coalesce(max_by(r.v * 0, r.t), 3) AS c FROM r WHERE $Range"
      )
      oneIn(2)(all).foreach(rows => check(lateral(rows)))
    }
  }

  test("subqueries of one value, by an order and by an aggregate") {
    sides(3)
    val subqueries = Seq(
      s"SELECT r.t FROM r WHERE $Range ORDER BY r.t DESC LIMIT 1",
      s"SELECT coalesce(r.v * 0, 1) FROM r WHERE $Range AND r.v > 1 ORDER BY r.t DESC LIMIT 1",
      s"SELECT l.v FROM r WHERE $Range ORDER BY r.t DESC LIMIT 1",
      s"SELECT max(r.t) FROM r WHERE $Range",
      s"SELECT coalesce(max(r.t) + 1, -1) FROM r WHERE $Range",
      s"SELECT min(r.t) FROM r WHERE r.k = l.k AND r.t BETWEEN l.t - 5 AND l.t + 5",
      s"SELECT max_by(r.id, struct(r.t, r.id)) FROM r WHERE $Range",
      s"SELECT min(struct(r.t, r.id)) FROM r WHERE r.k = l.k AND l.t < r.t"
    ).filter(hasCorrelatedLimits || !_.contains("LIMIT"))
    for (subquery <- subqueries) check(s"SELECT l.id, ($subquery) AS found FROM l")
    for (subquery <- oneIn(3)(subqueries))
      check(s"SELECT l.id FROM l WHERE hash(($subquery)) % 3 <> 1 AND l.v < 4")
    val other = s"SELECT min(t) FROM r WHERE k = l.k AND t > l.t"
    check(s"SELECT id, ($other) - (SELECT max(t) FROM r WHERE $Range) AS gap FROM l", joins = 2)
    check(s"SELECT id FROM (SELECT id, ($other) AS next FROM l) WHERE next > 5")
    check(
      s"SELECT l.id, (SELECT max(r.t) FROM l AS r WHERE r.k = l.k AND r.t < l.t) AS before FROM l")
  }

  test("several values of the same rows are one join", Slow) {
    sides(3)
    def last(value: String, where: String = Range) =
      s"(SELECT max_by($value, struct(r.t, r.id)) FROM r WHERE $where)"
    check(s"SELECT l.id, ${last("r.v")} AS v, ${last("r.id * 2")} AS of FROM l")
    check(s"SELECT l.id FROM l WHERE ${last("r.v")} < 3 AND ${last("r.id")} > 20")
    check(s"SELECT l.id, ${last("r.v")} AS v, ${last("r.v", s"$Range AND r.v < 4")} AS w FROM l", 2)
    val next = "(SELECT min_by(r.v, struct(r.t, r.id)) FROM r WHERE r.k = l.k AND r.t <= l.t)"
    check(s"SELECT l.id, ${last("r.v")} AS v, $next AS first FROM l", joins = 2)
    if (hasCorrelatedLimits) {
      def ordered(value: String, order: String) =
        s"(SELECT $value FROM r WHERE $Range ORDER BY $order LIMIT 1)"
      val order = "r.t DESC, r.id"
      check(s"SELECT l.id, ${ordered("r.v", order)} AS v, ${ordered("r.t", order)} AS t FROM l")
      // A NULL stands for no row in one, and not in the other.
      check(
        s"SELECT l.id, ${ordered("coalesce(r.v * 0, 1)", order)} AS v, ${last("r.id")} AS id FROM l",
        2)
      check(
        s"SELECT l.id, ${ordered("r.v", order)} AS v, ${ordered("r.t", "r.t DESC, r.v, r.id")} AS t FROM l",
        2)
    }
  }

  test("rows of the outer query that are the same each have their own") {
    assume(hasCorrelatedLimits)
    sides(5)
    check(
      s"SELECT a.v, s.t FROM (SELECT k, t, v FROM l UNION ALL SELECT k, t, v FROM l) AS a, " +
        "LATERAL (SELECT r.t FROM r WHERE r.k = a.k AND r.t <= a.t ORDER BY r.t DESC LIMIT 2) AS s")
  }

  test("in a subquery that is itself correlated") {
    sides(7)
    val query = "SELECT * FROM l WHERE EXISTS (SELECT 1 FROM r AS o WHERE o.id = l.id AND o.t > " +
      "(SELECT max(r.t) FROM r WHERE r.k = o.k AND r.t <= o.t - 9))"
    val expected = rowsOfStock(spark.sql(query))
    assert(best(spark.sql(query)).count(identity) == 1)
    assertSameRows(rows(spark.sql(query)), expected, query)
  }

  test("a query that asks for names of files is left to Spark") {
    sides(9)
    val query =
      s"SELECT l.id, input_file_name() AS name, (SELECT max(r.t) FROM r WHERE $Range) AS found FROM l"
    check(query, joins = 0)
    check(s"SELECT id FROM l WHERE id IN (SELECT id FROM ($query) WHERE name = '')", joins = 0)
  }

  test("what is left to Spark", Slow) {
    sides(9)
    for (subquery <- Seq(
        s"SELECT count(*) FROM r WHERE $Range",
        s"SELECT max(r.v) FROM r WHERE $Range",
        s"SELECT max(r.t) FROM r WHERE r.k = l.k",
        s"SELECT max(r.t) + min(r.t) FROM r WHERE $Range",
        s"SELECT max(DISTINCT r.t) FROM r WHERE $Range",
        s"SELECT max(r.t) FILTER (WHERE r.v > 2) FROM r WHERE $Range",
        s"SELECT max(r.t) FROM r WHERE $Range GROUP BY r.k"
      )) check(s"SELECT l.id, ($subquery) AS found FROM l", joins = 0)
    for (columns <- Seq("1 AS k, t", "k, 20 AS t"))
      check(
        s"SELECT l.id, (SELECT max(r.t) FROM r WHERE $Range) AS found FROM (SELECT id, $columns FROM l) AS l",
        joins = 0)
    val latest = s"SELECT l.id, (SELECT max(r.t) FROM r WHERE $Range) AS found FROM l"
    for (key <- Seq(RangeJoinConf.Correlated, RangeJoinConf.BestMatches, RangeJoinConf.Enabled))
      withConf(key.key -> "false")(check(latest, joins = 0))
  }

  test("rows that have no size before the optimizer has run") {
    sides(41)
    // Spark computes such rows where its optimizer begins.
    val values = "VALUES (1, current_date(), 3), (1, current_date(), 9), (2, NULL, 5)"
    spark.sql(s"SELECT * FROM $values AS v(k, c, t)").createOrReplaceTempView("dated")
    val broadcast = "spark.sql.autoBroadcastJoinThreshold" -> "10MB"
    for ((keys, joins) <- Seq("" -> 0, "d.k = l.k AND " -> 1)) withConf(broadcast) {
      val of = s"FROM dated d WHERE ${keys}d.t <= l.t"
      val queries = Seq(s"SELECT l.id, (SELECT max_by(d.k, d.t) $of) AS m FROM l") ++
        (if (hasCorrelatedLimits)
           Seq(s"SELECT l.id, s.t FROM l, LATERAL (SELECT d.t $of ORDER BY d.t DESC LIMIT 1) AS s")
         else Nil)
      for (query <- queries) {
        val expected = rowsOfStock(spark.sql(query))
        assert(expected.nonEmpty)
        assertSameRows(rows(spark.sql(query)), expected, query)
        if (joins == 1) assert(best(spark.sql(query)).contains(true), query)
      }
    }
  }
}
