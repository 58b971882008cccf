// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.best.BestMatchesTest
import org.apache.spark.sql.rangejoin.best.BestMatchesTest._

import org.scalatest.tagobjects.Slow

/**
 * The least and the greatest BIGINT are values of a column like others, though a bound there is unknown where it is
 * an expression that overflows: many tables have the greatest for "no end", and the least for "from the beginning".
 */
class ExtremeValuesSuite extends BestMatchesTest {
  private val Least = "-9223372036854775807L - 1"
  private val Greatest = "9223372036854775807L"

  private val Values = Seq(
    Least,
    s"$Least + 1",
    s"$Least + 2",
    "-1L",
    "0L",
    "1L",
    s"$Greatest - 2",
    s"$Greatest - 1",
    Greatest)

  private def value(seed: Int): String =
    s"element_at(array(${Values.mkString(", ")}), 1 + pmod(hash(id, $seed), ${Values.size}))"

  private def createViews(rows: Int): Unit = for ((name, seed) <- Seq("l" -> 1, "r" -> 5)) {
    spark.sql(
      s"SELECT id, id % 2 AS k, ${value(seed)} AS a, ${value(seed + 1)} AS b, hash(id) % 100 AS v " +
        s"FROM range($rows)").createOrReplaceTempView(name)
  }

  private val Points = Seq(
    "r.a <= l.a",
    "r.a < l.a",
    "r.a >= l.a",
    "r.a > l.a",
    "r.a BETWEEN l.a AND l.b",
    "r.a > l.a AND r.a < l.b",
    "r.a BETWEEN l.a - 1 AND l.a + 1",
    "r.a < l.a + 1"
  )

  private val Intervals = Seq(
    "l.a BETWEEN r.a AND r.b",
    "l.a >= r.a AND l.a < r.b",
    "l.a > r.a AND l.a <= r.b",
    "l.a > r.a AND l.a < r.b",
    "r.a <= l.b AND r.b >= l.a",
    "r.a < l.b AND r.b > l.a",
    "l.a >= r.a AND l.a < coalesce(r.b, 9223372036854775807L)"
  )

  /**
   * With a key in one form or another, and without one by range buckets; a sum that overflows is the other
   * extreme.
   */
  private def inForms(query: String): Unit = ansi(on = false) {
    compare(query, nextForm, nextEngine)(_ => true)
    compare(query.replace("l.k = r.k AND ", ""), Seq(byBuckets(4)), nextEngine)(_ => true)
  }

  for (on <- Points ++ Intervals)
    test(s"pairs, counts and sums where $on", slowButOneIn(8)(s"pairs $on"): _*) {
      createViews(120)
      val joins = Seq("l.id AS l_id, r.id" -> "JOIN", "l.id AS l_id, r.id" -> "LEFT JOIN") ++
        Seq("LEFT SEMI JOIN", "LEFT ANTI JOIN").map("l.id" -> _)
      val pairs = for ((columns, join) <- joins)
        yield s"SELECT $columns FROM l $join r ON l.k = r.k AND $on"
      val sums =
        s"SELECT l.id, count(r.id), sum(r.v), min(r.v) FROM l LEFT JOIN r ON l.k = r.k AND $on " +
          "GROUP BY l.id"
      oneIn(3)(sums +: pairs).foreach(inForms)
      ansi(on = false) {
        checkAgainstStock(
          spark.sql(s"SELECT l.id AS l_id, r.id FROM l FULL JOIN r ON l.k = r.k AND $on"),
          engines = nextEngine)
      }
    }

  for ((on, i) <- Points.zipWithIndex; direction = if ((i + i / 2) % 2 == 0) "ASC" else "DESC")
    test(
      s"best matches where $on, by r.a $direction",
      slowButOneIn(4)(s"best $on $direction"): _*) {
      createViews(120)
      for {
        (shown, function, limit, join) <- Seq(
          ("r.id", "rank()", 1, "INNER"),
          ("r.id", "dense_rank()", 2, "LEFT"),
          ("r.a", "row_number()", 2, "LEFT"))
      } inForms(rankedPairs(
        s"l.id AS l_id, $shown",
        function,
        s"r.a $direction",
        join,
        s"l.k = r.k AND $on",
        limit))
    }

  private val Plain = "CAST(pmod(hash(id, 3), 4000) AS BIGINT)"

  /** Some of the values of a side. */
  private def createLarge(name: String, a: String, b: String): Unit =
    spark.sql(s"SELECT id, id % 2 AS k, $a AS a, $b AS b FROM range(2000)")
      .createOrReplaceTempView(name)

  /** Compares with stock Spark in each form, and looks at a metric of the join. */
  private def isBelow(limit: Long, metric: String, query: String): Unit =
    assert(compareMetric(metric, limit - 1, query, Forms).exists(_ > 0L), query)

  private val End = s"$Plain + pmod(hash(id), 600)"

  private def counted(on: String): String =
    s"SELECT l.id, count(r.id) FROM l LEFT JOIN r ON l.k = r.k AND $on GROUP BY l.id"

  testOfCases("a few ends at the greatest value cost no pairs", 3)(
    Intervals.take(4) ++ Intervals.takeRight(1)) { conditions =>
    createLarge("l", Plain, End)
    createLarge("r", Plain, s"IF(id % 50 = 1, $Greatest, $End)")
    for (on <- conditions)
      isBelow(20000L, "numPairs", counted(on))
  }

  test("a few intervals from the least value on cost no pairs", Slow) {
    createLarge("l", s"IF(id % 50 = 1, $Least, $Plain)", s"IF(id % 50 = 2, $Greatest, $End)")
    createLarge("r", s"IF(id % 50 = 3, $Least, $Plain)", s"IF(id % 50 = 4, $Greatest, $End)")
    for (on <- Intervals.slice(4, 6)) isBelow(20000L, "numPairs", counted(on))
  }

  test("a few values at the extremes cost no candidates of best matches", Slow) {
    val values = s"IF(id % 5 = 1, $Least, IF(id % 5 = 2, $Greatest, $Plain))"
    createLarge("l", values, "0")
    createLarge("r", values, "0")
    for ((on, direction) <- Seq("r.a <= l.a" -> "DESC", "r.a >= l.a" -> "ASC"))
      isBelow(
        4000L,
        "numCandidates",
        rankedPairs(
          "l.id, r.a",
          "row_number()",
          s"r.a $direction",
          "LEFT",
          s"l.k = r.k AND $on",
          1))
  }
}
