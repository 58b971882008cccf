// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.util.Random

import org.scalatest.tagobjects.Slow

/** Best matches and aggregates by values of which bounds are prefixes: texts, bytes, long decimals, structs. */
class PrefixedValuesSuite extends BestMatchesTest {
  import BestMatchesTest._

  /** From small numbers; most of the values of a type have one prefix, and some another. */
  private val Types: Map[String, String => String] = Map(
    "STRING" -> (n => s"concat(IF($n > 140, '2024-02-', '2024-01-'), lpad($n, 4, '0'))"),
    "BINARY" -> (n => s"CAST(concat('same prefix ', lpad($n, 4, '0')) AS BINARY)"),
    "DECIMAL(38, 4)" -> (n =>
      s"CAST('1234567890123456789012' AS DECIMAL(38, 4)) + CAST($n / 7 AS DECIMAL(10, 4))"),
    "STRUCT" -> (n => s"named_struct('a', 1, 'b', $n)")
  )

  /** Rows of a few keys with many ties, some of them NULL, and another value that is no less. */
  private def side(name: String, rows: Int, seed: Int, value: String => String): Unit = {
    val random = new Random(seed)
    val values = Seq.tabulate(rows) { id =>
      val t = if (random.nextInt(20) == 0) "NULL" else random.nextInt(150).toString
      s"($id, ${random.nextInt(3)}, $t, ${random.nextInt(40)}, ${random.nextInt(5)})"
    }
    spark.sql(
      s"""SELECT id, k, v, IF(n IS NULL, NULL, ${value("n")}) AS t,
         |  IF(n IS NULL, NULL, ${value("(n + d)")}) AS u
         |FROM VALUES ${values.mkString(", ")} AS v(id, k, n, d, v)""".stripMargin)
      .createOrReplaceTempView(name)
  }

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

  for ((name, value) <- Types; range <- Ranges)
    test(s"the first matches by $name where $range", slowButOneIn(3)(s"$name $range"): _*) {
      side("l", 120, 1, value)
      side("r", 150, 2, value)
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
      oneIn(3)(rankings ++ extremes).foreach(check(_))
      compare(aggregated(range), nextForm, nextEngine)(_ => true)
    }

  private def aggregated(range: String): String =
    "SELECT l.id, count(r.id), sum(r.v), avg(r.v), max(r.t) " +
      s"FROM l LEFT JOIN r ON l.k = r.k AND $range GROUP BY l.id"

  test("intervals of values give all matches") {
    side("l", 60, 3, Texts)
    side("r", 80, 4, Texts)
    for (form <- Forms; by <- Seq("r.t DESC", "r.u"))
      check(
        ranked("l.t BETWEEN r.t AND r.u", by, shown = "l.id AS l_id, r.id", function = "rank()"),
        best = false,
        forms = Seq(form))
  }

  private val Texts = Types("STRING")

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
    side("l", 300, 5, Texts)
    side("r", 3000, 6, Texts)
    for ((range, by) <- Seq("r.t <= l.t" -> "r.t DESC", "r.t >= l.t" -> "r.t");
      form <- Forms :+ OnDisk)
      compareMetric("numCandidates", 600L, ranked(range, by, limit = 2), Seq(form))
  }

  test("no pairs are made to be aggregated", Slow) {
    side("l", 300, 5, Texts)
    side("r", 3000, 6, Texts)
    for (range <- Seq("r.t <= l.t", "r.t BETWEEN l.t AND l.u"); form <- Forms :+ OnDisk)
      compareMetric("numPairs", 1000L, aggregated(range), Seq(form))
  }
}
