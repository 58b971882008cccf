// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

/** Rankings by a difference from a value of the row, or by its absolute value. */
class NearestMatchesSuite extends BestMatchesTest {
  import BestMatchesTest._
  import NearestMatchesSuite._

  private def sides(seed: Int)(value: String => String): Unit =
    bothSides(80, 160, seed, keys = 2)(value)

  private def sidesOf(range: String, seed: Int): Unit = sides(seed)(valueOf(range))

  /** Of those that tie, row_number takes any: so shows the distance alone, or all of them are ranked. */
  private def ranked(
      range: String,
      by: String,
      function: String = "rank()",
      limit: Int = 1,
      joinType: String = "LEFT"): String = {
    val shown = if (function == "row_number()") s"$by AS d" else "r.id AS rid, r.t AS rt"
    rankedPairs(s"l.id, $shown", function, by, joinType, s"l.k = r.k AND $range", limit)
  }

  test("the nearest, within a distance, between ends, and of a range with one end") {
    for (on <- Seq(true, false)) ansi(on) {
      sidesOf("INT", 1)
      val queries = for {
        (range, joinType) <- RangesAndTypes
        (function, limit) <- Seq("row_number()" -> 3, "rank()" -> 2, "dense_rank()" -> 1)
        (on, by) <- Seq(range -> "abs(l.t - r.t)", s"$range AND r.v <> l.v" -> "abs(r.t - l.t)")
      } yield ranked(on, by, function, limit, joinType)
      oneIn(13)(queries).foreach(check(_))
    }
  }

  test("a difference in either direction") {
    sidesOf("BIGINT", 3)
    val cases = for {
      range <- Ranges
      difference <- Seq("l.t - r.t", "r.t - l.t")
      direction <- Seq("ASC", "DESC")
      function <- Seq("row_number()", "rank()")
    } yield (range, difference, direction, function)
    for ((range, difference, direction, function) <- oneIn(13)(cases))
      withConf("spark.sql.ansi.enabled" -> (function == "rank()").toString) {
        val by = s"$difference $direction"
        val query = ranked(range, by, function, 2)
        check(if (function == "rank()") query else query.replace(s"$by AS d", s"$difference AS d"))
      }
  }

  testOfCases("aggregates by a distance, and more columns behind it", 3)(RangesAndTypes) { cases =>
    sidesOf("INT", 5)
    for ((range, joinType) <- cases) {
      val join = s"FROM l $joinType JOIN r ON l.k = r.k AND $range"
      oneIn(2)(Seq(
        s"SELECT l.id, min(abs(l.t - r.t)) $join GROUP BY l.id",
        s"SELECT l.id, min(struct(abs(l.t - r.t), r.id)) $join GROUP BY l.id",
        s"SELECT l.v, min_by(r.v * 0, l.t - r.t), min(l.t - r.t) $join GROUP BY l.v",
        s"""SELECT * FROM (SELECT l.id, r.id AS rid, row_number() OVER (
           |  PARTITION BY l.id ORDER BY abs(l.t - r.t), r.id) AS n $join) WHERE n <= 2""".stripMargin
      )).foreach(check(_))
    }
  }

  testOfCases("types of the column, and units of time", 7)(for {
    (zone, on) <- Seq("UTC" -> true, "Europe/Berlin" -> false)
    (range, distances) <- Distances
    distance <- distances
    by <- Seq(distance, s"abs($distance)")
  } yield (zone, on, range, by)) { cases =>
    for ((zone, on, range, by) <- cases)
      withConf("spark.sql.session.timeZone" -> zone, "spark.sql.ansi.enabled" -> on.toString) {
        sidesOf(range, 7)
        check(ranked(if (by.startsWith("abs")) "r.t >= l.t" else "r.t <= l.t", by, limit = 2))
      }
  }

  testOfCases("local time that goes back", 7)(for {
    range <- Seq(
      "r.t <= l.t",
      "r.t >= l.t",
      "r.t BETWEEN l.t - INTERVAL 3 HOUR AND l.t + INTERVAL 3 HOUR")
    by <- Seq("l.t - r.t", "r.t - l.t", "abs(l.t - r.t)")
    limit <- Seq(1, 4)
  } yield (range, by, limit)) { cases =>
    withConf("spark.sql.session.timeZone" -> "Europe/Berlin") {
      sidesOf("NIGHT", 9)
      for ((range, by, limit) <- cases) check(ranked(range, by, limit = limit))
      check(ranked("r.t <= l.t", "l.t - r.t", "dense_rank()"), best = false, Forms.take(1))
    }
  }

  testOfCases("differences that wrap around are in no order", 5)(for {
    range <- Seq("r.t <= l.t", "r.t >= l.t", "l.t < r.t")
    by <- Seq("l.t - r.t", "r.t - l.t", "abs(l.t - r.t)", "abs(r.t - l.t)")
  } yield (range, by)) { cases =>
    ansi(on = false) {
      sides(11)(t =>
        s"cast(if($t < 60, $t, 2147483640 - $t) AS INT) * if($t % 2 = 0, 1, -1)")
      for ((range, by) <- cases) check(ranked(range, by, limit = 2))
      sides(13)(t => s"cast($t AS BIGINT) * 92000000000000000 * if($t % 2 = 0, 1, -1)")
      for (by <- oneIn(2)(Seq("l.t - r.t", "r.t - l.t", "abs(l.t - r.t)")))
        check(ranked("r.t <= l.t", by, limit = 2))
    }
  }

  test("without a key, by range buckets") {
    sidesOf("INT", 15)
    val query = ranked("r.t BETWEEN l.t - 10 AND l.t + 10", "abs(l.t - r.t)", limit = 2)
      .replace("l.k = r.k AND ", "")
    check(query, forms = Seq(byBuckets(5)))
  }

  testOfCases("a window that spills, and an index without room", 6)(Ranges) { ranges =>
    sidesOf("INT", 17)
    withConf(Cramped: _*) {
      for (range <- ranges)
        check(ranked(range, "abs(l.t - r.t)", limit = 2), forms = Forms.take(2))
    }
  }

  test("a row has no more than its best matches on either side") {
    ansi(on = true) {
      sides(19)(t => s"cast($t * 7 AS INT)")
      for {
        range <- Seq("r.t BETWEEN l.t - 600 AND l.t + 600", "abs(r.t - l.t) <= 600")
        form <- Forms
        engine <- nextEngine
      } withConf(engine: _*) {
        val query = ranked(range, "abs(l.t - r.t)", "row_number()", 2)
        val df = spark.sql(form.of(query))
        df.collect()
        val pairs = joinOf(df).metrics("numOutputRows").value
        assert(pairs <= 4 * 80, s"$range as $form under $engine\n${executedPlan(df)}")
      }
    }
  }

  test("what is ranked by no distance has all matches") {
    sidesOf("INT", 21)
    val range = "r.t BETWEEN l.t - 10 AND l.t + 10"
    for (by <- Seq(
        "abs(l.t - r.t) DESC",
        "abs(l.v - r.v)",
        "l.t + r.t",
        "abs(l.t - 2 * r.t)",
        "try_subtract(l.t, r.t)",
        "double(l.t) - double(r.t)"))
      check(ranked(range, by), best = false, forms = Forms.take(1))
  }

  test("EXPLAIN and reports name the distance") {
    sidesOf("INT", 23)
    for (form <- Forms) {
      val query = ranked("r.t <= l.t", "abs(l.t - r.t)", limit = 3)
      val plan = executedPlan(spark.sql(form.of(query)))
      assert(plan.toString.matches("(?s).*best 3 by distance of t#\\d+ from t#\\d+, rank.*"))
    }
  }
}

object NearestMatchesSuite {

  /** Ranges, each with a type of join. */
  private val RangesAndTypes = Seq(
    "abs(l.t - r.t) <= 20" -> "INNER",
    "abs(r.t - l.t) < 9" -> "LEFT",
    "r.t BETWEEN l.t - 20 AND l.t + 10" -> "INNER",
    "r.t <= l.t" -> "LEFT",
    "l.t < r.t" -> "INNER",
    "r.t >= l.t + 5 AND r.t < l.t + 30" -> "LEFT"
  )

  private val Ranges = RangesAndTypes.map(_._1)

  private val Distances = Seq(
    "SMALLINT" -> Seq("l.t - r.t"),
    "INT" -> Seq("cast(l.t AS BIGINT) - cast(r.t AS BIGINT)"),
    "BIGINT" -> Seq("cast(r.t AS DECIMAL(20, 0)) - cast(l.t AS DECIMAL(20, 0))"),
    "DECIMAL(10, 2)" -> Seq("l.t - r.t", "r.t - l.t"),
    "DATE" -> Seq("datediff(l.t, r.t)", "r.t - l.t"),
    "TIMESTAMP" -> Seq(
      "l.t - r.t",
      "unix_timestamp(l.t) - unix_timestamp(r.t)",
      "unix_micros(r.t) - unix_micros(l.t)",
      "cast(l.t AS BIGINT) - cast(r.t AS BIGINT)"),
    "TIMESTAMP_NTZ" -> Seq("l.t - r.t")
  )
}
