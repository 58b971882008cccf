// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.explain.JoinReports

import org.scalatest.tagobjects.Slow

/** Intervals, of which a row may be in many, are counted and summed by their ends. */
class IntervalAggregatesSuite extends RangeJoinTest {

  /** The left row is a point. */
  private val OfPoints =
    Seq("l.a BETWEEN r.a AND r.b", "l.a >= r.a AND l.a < r.b", "l.a > r.a AND l.a < r.b")

  private val Conditions = OfPoints ++ Seq("r.a <= l.b AND r.b >= l.a", "r.a < l.b AND r.b > l.a")

  private val Forms = Seq("MERGE(r)", "SHUFFLE_HASH(r)", "BROADCAST(r)")

  private def table(rows: Int, seed: Int): String =
    s"SELECT id, id % 2 AS k, pmod(hash(id, $seed), 4000) AS a, " +
      s"pmod(hash(id, $seed), 4000) + pmod(hash(id, ${seed + 1}), 600) AS b FROM range($rows)"

  /** @param x a value of the right rows, some of which are NULL */
  private def sides(
      end: String = "r.b",
      x: String = "IF(id % 7 = 3, NULL, hash(id) % 1000)"): Unit = {
    spark.sql(table(1500, 1)).createOrReplaceTempView("l")
    spark.sql(s"SELECT *, $x AS x FROM (${table(2000, 3)})").createOrReplaceTempView("proper")
    spark.sql(s"SELECT r.id, r.k, r.a, r.x, $end AS b FROM proper r").createOrReplaceTempView("r")
  }

  private def query(functions: String, on: String = Conditions.head): String =
    s"SELECT /*+ HINT */ l.id, $functions FROM l LEFT JOIN r ON l.k = r.k AND $on GROUP BY l.id"

  /** Compares with stock Spark; `check` gets metrics of the join. */
  private def compare(
      query: String,
      forms: Seq[String] = oneIn(3)(Forms),
      settings: Seq[Settings] = Seq(Nil))(
      check: (Map[String, Long], String) => Unit): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    for {
      form <- forms
      settings <- settings
      engine <- nextEngine
    } withConf(engine ++ settings: _*) {
      val df = spark.sql(query.replace("HINT", form))
      def clue = s"$query by $form under $engine and $settings\n${executedPlan(df)}"
      assertSameRows(rows(df), expected, clue)
      check(metrics(df), clue)
    }
  }

  private def metrics(df: DataFrame): Map[String, Long] =
    only(JoinReports.of(executedPlan(df))).metrics

  /**
   * Most of some 107,000 pairs are not looked at; the first ones are, since to sort and to sum has to be worth it:
   * in each of two tasks ten for each of 2,000 rows, where there are eight numbers.
   */
  private def areFew(metrics: Map[String, Long], clue: String): Unit =
    assert(metrics("numMatches") > 100000L && metrics("numPairs") < 41000L, clue)

  private def areMost(metrics: Map[String, Long], clue: String): Unit =
    assert(metrics("numPairs") > 80000L, clue)

  /** The last has intervals without an end. */
  private val Ends =
    Seq("r.b", "IF(r.id % 700 = 3, r.a - 9, r.b)", "IF(r.id % 700 = 3, NULL, r.b)")

  testOfCases("counts by a sort-merge join, in memory and on disk", 4)(
    for (on <- Conditions; end <- Ends) yield (on, end)) { cases =>
    for ((on, end) <- cases) {
      sides(end)
      val spills = RangeJoinTest.spillingFrom(100)
      compare(query("count(r.id), count(*)", on), Seq("MERGE(r)"), oneIn(2)(Seq(Nil, spills))) {
        (metrics, clue) =>
          if (end == "r.b") {
            areFew(metrics, clue)
            assert(metrics("numEvictedRows") > 1000L, clue)
          }
      }
    }
  }

  testOfCases("intervals that end before they begin, or as they begin", 7)(for {
    on <- Conditions
    ofTwo <- Seq("count(r.id), count(*)", "count(r.x), sum(r.x)")
    inverted <- Seq("r.a - 9", "r.a - 1", "r.a")
  } yield (on, ofTwo, inverted)) { cases =>
    for ((on, ofTwo, inverted) <- cases) {
      sides(s"IF(r.id % 90 = 3, $inverted, r.b)")
      compare(query(ofTwo, on)) { (metrics, clue) =>
        if (OfPoints.contains(on)) areFew(metrics, clue)
      }
    }
  }

  test("intervals of points, and of other rows", Slow) {
    // Some rows of the left side are points.
    sides("IF(r.id % 9 = 3, r.a - 20, r.b)")
    for (least <- Seq(0, 1, 500))
      compare(query(
        "count(*), sum(r.x)",
        s"r.a <= IF(l.id % 2 = 0, l.a, l.b) AND r.b >= l.a + $least"))((_, _) => ())
  }

  test("sums, averages and counts of whole numbers") {
    sides()
    for (on <- Conditions)
      compare(query("count(r.x), sum(r.x), avg(r.x), count(*), sum(r.x + 1L)", on))(areFew)
  }

  test("counts that leave out rows, and filters", Slow) {
    sides()
    compare(query("count(r.x)"))(areFew)
    compare(query("count(*) FILTER (WHERE r.x > 0), sum(r.x) FILTER (WHERE r.x % 3 = 0)"))(areFew)
    compare(query("count(r.x)"), Seq("MERGE(r)"), Seq(RangeJoinTest.spillingFrom(100)))(areFew)
  }

  test("rows without a value, and streamed rows without a match") {
    sides(x = "IF(a < 2000, NULL, 1)")
    compare(query("sum(r.x), avg(r.x), count(r.x)"))(areFew)
    sides()
    compare(query("sum(r.x), avg(r.x)", "l.a + 3900 BETWEEN r.a AND r.b"))((_, _) => ())
  }

  test("what is not exact is added pair by pair", Slow) {
    sides()
    for (function <-
        Seq("sum(r.x / 8D)", "sum(CAST(r.x AS DECIMAL(9, 2)))", "max(r.x)", "try_sum(r.x)"))
      compare(query(s"$function, count(*)"))(areMost)
    // Together they may be too large, though those of no row are.
    for (x <- Seq(s"${1L << 55}L * (id % 5)", "IF(id % 25 = 3, -9223372036854775808L, id)")) {
      sides(x = x)
      for (form <- Forms) withConf("spark.sql.ansi.enabled" -> "false")(
        compare(query("sum(r.x)"), Seq(form))(areMost))
    }
    // A DOUBLE has these, but not all whole numbers up to what they add up to.
    sides(x = s"${1L << 50}L + id * 1024")
    compare(query("avg(r.x)"), Seq("MERGE(r)"))(areMost)
  }

  test("an error of a row that nothing matches is not raised") {
    sides(x = "IF(id = 77, 0, 1)")
    spark.sql("SELECT id, k, IF(x = 0, 2000, a) AS a, IF(x = 0, 2000, b) AS b, x FROM proper")
      .createOrReplaceTempView("r")
    spark.sql(s"SELECT * FROM (${table(1500, 1)}) WHERE a <> 2000").createOrReplaceTempView("l")
    withConf("spark.sql.ansi.enabled" -> "true") {
      for (functions <- Seq("count(1 / r.x)", "sum(1 DIV r.x)")) {
        // In one task, as the pairs of another one need not be looked at.
        compare(query(functions), Forms.tail, Seq(Seq(RangeJoinTest.OneTask)))(areMost)
        // A window has none but rows that match.
        compare(query(functions), Forms.take(1))(areFew)
      }
    }
  }
}
