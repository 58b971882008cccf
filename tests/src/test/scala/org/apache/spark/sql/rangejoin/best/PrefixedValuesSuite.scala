// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.scalatest.tagobjects.Slow

/** Best matches and aggregates by values of which bounds are prefixes: texts, bytes, long decimals, structs. */
class PrefixedValuesSuite extends BestMatchesTest {
  import BestMatchesTest._

  private val Types = Seq("STRING", "BINARY", "DECIMAL(38, 4)", "STRUCT")

  private def ranked(
      range: String,
      by: String,
      function: String = "row_number()",
      limit: Int = 1,
      joinType: String = "LEFT",
      shown: String = "l.id AS l_id, r.t"
  ): String = rankedPairs(shown, function, by, joinType, s"l.k = r.k AND $range", limit)

  private val Ranges =
    Seq(
      "r.t <= l.t",
      "r.t < l.t",
      "r.t >= l.t",
      "r.t > l.t",
      "r.t BETWEEN l.t AND l.u",
      "r.t > l.t AND r.t < l.u")

  // Every second range of each type, which the next type does not have.
  for ((name, i) <- Types.zipWithIndex; (range, j) <- Ranges.zipWithIndex if (i + j) % 2 == 0)
    test(s"the first matches by $name where $range", slowButOneIn(6)(s"$name $range"): _*) {
      bothSides(120, 150, 1)(valueOf(name))
      val rankings = for {
        by <- Seq("r.t ASC", "r.t DESC")
        query <- Seq(
          ranked(range, by),
          ranked(range, by, limit = 3, joinType = "INNER"),
          ranked(range, by, "rank()", 2, "INNER", "l.id AS l_id, r.id"),
          ranked(range, by, "dense_rank()", 2, shown = "l.id AS l_id, r.id"),
          ranked(s"$range AND r.v <> l.v", by)
        )
      } yield query
      val extremes = Seq("max_by", "min_by").map(extreme =>
        s"SELECT l.id, $extreme(r.t, r.t) FROM l LEFT JOIN r ON l.k = r.k AND $range GROUP BY l.id")
      oneIn(5)(rankings ++ extremes).foreach(check(_))
      compare(aggregated(range), nextForm, nextEngine)(_ => true)
    }

  private def aggregated(range: String): String =
    "SELECT l.id, count(r.id), sum(r.v), avg(r.v), max(r.t) " +
      s"FROM l LEFT JOIN r ON l.k = r.k AND $range GROUP BY l.id"

  test("intervals of values give all matches") {
    bothSides(60, 80, 3)(valueOf("STRING"))
    for (form <- Forms; by <- Seq("r.t DESC", "r.u"))
      check(
        ranked("l.t BETWEEN r.t AND r.u", by, shown = "l.id AS l_id, r.id", function = "rank()"),
        best = false,
        forms = Seq(form))
  }

  testOfCases("a range of a number and of a text of which all have one prefix", 7)(for {
    on <- Seq(
      "r.t <= l.t AND r.s >= l.s",
      "r.t >= l.t AND r.s <= l.s",
      "r.s <= l.s AND r.t > l.t",
      "r.t >= l.t AND r.s >= l.s",
      "r.t <= l.t + 5 AND r.s > l.s")
    by <- Seq("r.t DESC", "r.t", "r.s", "r.s DESC", "abs(r.t - l.t)")
    form <- Forms
  } yield (on, by, form)) { cases =>
    for ((name, seed) <- Seq("l" -> 1, "r" -> 2))
      spark.sql(
        s"SELECT id, 1 AS k, id % 5 AS v, pmod(hash(id, $seed), 60) AS t, " +
          s"concat('same prefix ', pmod(hash(id, $seed, 1), 5)) AS s FROM range(80)")
        .createOrReplaceTempView(name)
    for ((on, by, form) <- cases) {
      val query = ranked(on, by, "rank()", 2, shown = "l.id AS l_id, r.id")
      compare(query, Seq(form), nextEngine)(_ => true)
      if (by == "r.t") compare(aggregated(on), Seq(form), nextEngine)(_ => true)
    }
  }

  test("no more candidates than are wanted", Slow) {
    bothSides(300, 3000, 5)(valueOf("STRING"))
    for ((range, by) <- Seq("r.t <= l.t" -> "r.t DESC", "r.t >= l.t" -> "r.t");
      form <- Forms :+ OnDisk)
      compareMetric("numCandidates", 600L, ranked(range, by, limit = 2), Seq(form))
  }

  test("no pairs are made to be aggregated", Slow) {
    bothSides(300, 3000, 5)(valueOf("STRING"))
    for (range <- Seq("r.t <= l.t", "r.t BETWEEN l.t AND l.u"); form <- Forms :+ OnDisk)
      compareMetric("numPairs", 1000L, aggregated(range), Seq(form))
  }
}
