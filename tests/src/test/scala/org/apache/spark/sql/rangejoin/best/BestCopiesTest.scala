// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.util.{Random, Try}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings

import org.scalatest.tagobjects.Slow

/** Joins of which best matches alone are wanted, by buckets of the range: the best rows are copied. */
trait BestCopiesTest extends BestMatchesTest {
  import BestMatchesTest._

  /** A condition that holds for the keys as well, if there are any. */
  protected def keyed(range: String): String

  /** A form of the join by so many buckets. */
  protected def inBuckets(buckets: Int): Form

  /** Whether the best rows are copied; None before the plan shows it. */
  protected def copiesBest(df: DataFrame): Option[Boolean]

  /** How many rows have been copied. */
  protected def numCopies(df: DataFrame): Long

  protected def engines: Seq[Settings] = nextEngine

  protected def types: Seq[String]

  private def distanceOf(dataType: String): String = dataType match {
    case "DATE"      => "abs(datediff(l.t, r.t))"
    case "TIMESTAMP" => "abs(unix_micros(l.t) - unix_micros(r.t))"
    case _           => "abs(l.t - r.t)"
  }

  private val KnownTimes = "l.t IS NOT NULL AND r.t IS NOT NULL"
  private val OtherTimes = "l.t <> r.t AND l.v < 4"

  /** Sides in several partitions. */
  protected def spread(left: Int, right: Int, seed: Int, dataType: String = "BIGINT"): Unit =
    for (((name, rows), i) <- Seq("l" -> left, "r" -> right).zipWithIndex)
      side(name, rows, seed + i, partitions = 3)(valueOf(dataType))

  private def view(name: String, rows: DataFrame): Unit =
    rows.selectExpr("*", "t - t AS k").createOrReplaceTempView(name)

  protected def ranked(
      range: String,
      by: String,
      function: String = "row_number()",
      limit: Int = 1,
      joinType: String = "LEFT",
      shown: String = "r.t AS rt"
  ): String = rankedPairs(s"l.id, $shown", function, by, joinType, keyed(range), limit)

  /** A number of buckets, always the same for the same query. */
  private def someBuckets(query: String): Int = Seq(1, 6, 6, 40)(Math.floorMod(query.hashCode, 4))

  /** Compares with stock Spark, and looks for which rows are copied. */
  protected def checkCopies(
      query: String,
      best: Boolean = true,
      buckets: Option[Int] = None): Seq[String] = {
    val form = inBuckets(buckets.getOrElse(someBuckets(query)))
    var seen = Option.empty[Boolean]
    val found = compare(query, Seq(form), engines) { df =>
      seen = copiesBest(df)
      seen.forall(_ == best)
    }
    assert(seen.contains(best), query)
    found
  }

  /** Of the types, those whose tests are quick. */
  protected def quickTypes: Set[String]

  for ((dataType, seed) <- types.zipWithIndex)
    test(s"every ranking, from either end, over $dataType", slowIf(!quickTypes(dataType)): _*) {
      // Zeros of either sign are ties.
      val t = if (dataType == "DOUBLE") "r.t + 0D AS rt" else "r.t AS rt"
      spread(90, 150, seed, dataType)
      val queries = for {
        range <- Seq("r.t <= l.t", "r.t < l.t", "l.t <= r.t", "l.t < r.t")
        direction <- Seq("ASC", "DESC")
        query <- Seq(
          ranked(range, s"r.t $direction", shown = t),
          ranked(range, s"r.t $direction, r.id", limit = 2, shown = "r.id AS rid"),
          ranked(range, s"r.t $direction", "rank()", 3, shown = "r.id AS rid"),
          ranked(range, s"r.t $direction", "dense_rank()", 2, shown = "r.id AS rid")
        )
      } yield query
      oneIn(9)(queries).foreach(checkCopies(_))
    }

  for ((dataType, seed) <- types.zipWithIndex)
    test(s"the nearest rows, over $dataType", slowIf(!quickTypes(dataType)): _*) {
      spread(90, 150, 20 + seed, dataType)
      val distance = distanceOf(dataType)
      val ofInner = for {
        range <- Seq("true", KnownTimes)
        joinType <- Seq("LEFT", "INNER")
        by <- Seq(s"$distance NULLS FIRST", s"$distance NULLS LAST")
        query <- Seq(
          ranked(range, by, limit = 2, joinType = joinType, shown = s"$distance AS d"),
          s"SELECT l.v, min($distance) FROM l $joinType JOIN r ON ${keyed(range)} GROUP BY l.v"
        )
      } yield query
      // Of an inner join with ties, the larger side is the owner. Where distances are rounded, any number of rows may
      // have one dense rank.
      val exact = dataType != "DOUBLE"
      val withTies = for {
        range <- Seq("true", KnownTimes, OtherTimes)
        by <- Seq(s"$distance NULLS FIRST", s"$distance NULLS LAST")
        (function, limit) <-
          Seq("rank()" -> 3, "rank()" -> 1) ++ Some("dense_rank()" -> 2).filter(_ => exact)
        order <- Seq(by, s"$by, r.id")
      } yield ranked(range, order, function, limit, shown = "r.id AS rid")
      (oneIn(7)(ofInner) ++ oneIn(17)(withTies)).foreach(checkCopies(_))
    }

  testOfCases("the nearest rows by distances that do not quite rise with the times", 3)(Seq(
    // Whole seconds of times that have fractions.
    "unix_timestamp(l.t) - unix_timestamp(r.t)" -> "timestamp_millis(1700000000000 + $ * 137)",
    "CAST(l.t AS BIGINT) - CAST(r.t AS BIGINT)" -> "timestamp_millis($ * 301)",
    // The night that clocks go back.
    "l.t - r.t" -> valueOf("NIGHT")("$")
  )) { times =>
    withConf("spark.sql.session.timeZone" -> "Europe/Berlin") {
      for ((difference, value) <- times) {
        for ((name, rows) <- Seq("l" -> 90, "r" -> 200))
          side(name, rows, rows, partitions = 3)(value.replace("$", _))
        val distance = s"abs($difference)"
        val queries = for {
          range <- Seq("true", KnownTimes, OtherTimes)
          nulls <- Seq("FIRST", "LAST")
          by = s"$distance NULLS $nulls"
          query <- Seq(
            ranked(range, by, limit = 3, shown = s"$distance AS d"),
            ranked(range, by, "rank()", 2, shown = "r.id AS rid"),
            ranked(range, s"$by, r.id", shown = "r.id AS rid"))
        } yield query
        oneIn(7)(queries).foreach(checkCopies(_))
        checkCopies(
          s"SELECT l.id, min($distance) FROM l LEFT JOIN r ON ${keyed(KnownTimes)} GROUP BY l.id")
      }
    }
  }

  private def roundedCases = {
    val far = Seq(1e5, -1e8, 1e12, -1e15, 1e300, -1e300, Double.MaxValue)
    val ends = Seq(Double.NaN, Double.PositiveInfinity, Double.NegativeInfinity)
    val all = for {
      (middle, step) <- Seq(0.0 -> 1e-3, 1.0 -> 1e-9, 1e8 -> 1e-7, -1e15 -> 0.125, 1e-30 -> 1e-36)
      points <- Seq(far, far.take(3), ends.take(1), Nil)
      values <- Seq(far ++ ends, ends.drop(1), Nil)
      dataType <- Seq("DOUBLE", "FLOAT")
    } yield (middle, step, points, values, dataType)
    if (RangeJoinTest.EveryEngine) all else all.grouped(11).map(_.last).toSeq
  }

  testOfCases("rows that are as near as others because distances are rounded", 4)(roundedCases) {
    cases =>
      import spark.implicits._
      val random = new Random(31)
      // So near to each other that they have one distance from points that are far away.
      def around(middle: Double, step: Double) =
        Seq.fill(40)(middle + step * random.nextInt(60)) :+ middle
      for (((middle, step, points, values, dataType), i) <- cases.zipWithIndex) {
        val t = s"CAST(t AS $dataType) AS t"
        val (ofLeft, ofRight) =
          (around(middle, step) ++ points, around(middle, step) ++ around(0, step) ++ values)
        view("l", ofLeft.zipWithIndex.toDF("t", "id").repartition(2).selectExpr("id", t))
        view("r", ofRight.zipWithIndex.toDF("t", "id").repartition(3).selectExpr("id", t))
        val by = "abs(l.t - r.t)"
        val queries = Seq(
          ranked("true", by, "rank()", shown = "r.id AS rid"),
          ranked("true", by, "rank()", 5, shown = "r.id AS rid"),
          ranked("true", s"$by, r.id DESC", limit = 3, shown = "r.id AS rid")
        )
        for (query <- queries.patch(i % queries.size, Nil, 1))
          checkCopies(query, buckets = Some(if (random.nextBoolean()) 6 else 40))
      }
  }

  test("rows so far from others that all of these are as near") {
    for ((dataType, far) <- Seq("DOUBLE" -> "1e16D", "FLOAT" -> "1e9D")) {
      def side(name: String, rows: Long, t: String): Unit =
        spark.range(0, rows, 1, 3).selectExpr("id", s"CAST($t AS $dataType) AS t", "0 AS k")
          .createOrReplaceTempView(name)
      // Among as many others, they are no boundary.
      side("l", 300, s"CASE id WHEN 5 THEN $far WHEN 6 THEN -$far ELSE id END")
      side("r", 900, "id / 900")
      val query = ranked("true", "abs(l.t - r.t)", "rank()", shown = "r.id AS rid")
      assert(checkCopies(query, buckets = Some(6)).size > 1800)
    }
  }

  test("the nearest rows, where distances wrap around or raise") {
    import spark.implicits._
    val (least, greatest) = (Long.MinValue, Long.MaxValue)
    val values =
      Seq(least, least + 1, least / 2, -5L, 0L, 3L, 4L, greatest / 2, greatest - 1, greatest)
    val cases = for {
      few <- Seq(values, Seq(-5L, 0L, 3L, 4L, greatest / 2), Seq(least / 2, 0L, 3L, 4L))
      // Of the last ones, those that a distance from the greatest wraps around to are not the best of their buckets.
      ofRight <- Seq(
        values,
        Seq(0L, 2L, 4L, 6L, 8L),
        Seq(least, 0L),
        (0L to 40L).map(least + _) ++ (-20L to 20L))
      ansi <- Seq(true, false)
    } yield (few, ofRight, ansi)
    for ((few, ofRight, ansi) <- oneIn(5)(cases)) withConf(
      "spark.sql.ansi.enabled" -> ansi.toString) {
      view("l", few.zipWithIndex.toDF("t", "id"))
      view("r", ofRight.zipWithIndex.toDF("t", "id"))
      val (function, shown) =
        if (ansi) "row_number()" -> "abs(l.t - r.t) AS d" else "rank()" -> "r.id AS rid"
      val query = ranked("true", "abs(l.t - r.t)", function, 2, shown = shown)
      def outcome(flag: String): Either[Set[String], Seq[String]] =
        withConf(inBuckets(6).settings :+ Flag -> flag: _*)(
          Try(rows(spark.sql(query))).toEither.left.map(arithmeticErrors))
      val expected = outcome(flag = "false")
      assert(expected.left.forall(_.nonEmpty), query)
      if (expected.isRight) checkCopies(query, buckets = Some(6))
      else assert(outcome(flag = "true") == expected, query)
    }
  }

  test("the nearest rows of whole numbers of one sign, whose distances never wrap around") {
    val seconds = "CAST(1700000000 + hash(id) % 100000 AS INT) AS t"
    for ((name, rows) <- Seq("l" -> 300, "r" -> 400))
      spark.range(0, rows.toLong, 1, 3)
        .selectExpr("id", seconds.replace("(id)", s"(id, '$name')"), "id - id AS k")
        .createOrReplaceTempView(name)
    val query = ranked("true", "abs(l.t - r.t)", "rank()", shown = "r.id AS rid")
    checkCopies(query, buckets = Some(6))
    for (engine <- engines) withConf(inBuckets(6).settings ++ engine: _*) {
      val df = spark.sql(query)
      df.collect()
      // In either direction, of each task.
      assert(numCopies(df) <= 2 * 6 * 3, executedPlan(df))
    }
  }

  testOfCases("aggregates of the rows at one end, in groups of one row and of several", 5)(for {
    range <- Seq("r.t <= l.t", "r.t >= l.t")
    function <- Seq("max(r.t)", "min(r.t)", "max(struct(r.t, r.id))", "min(struct(r.t, r.id))")
    group <- Seq("l.id", "l.v")
  } yield (range, function, group)) { cases =>
    spread(90, 150, 7)
    for ((range, function, group) <- cases)
      checkCopies(s"SELECT $group, $function FROM l LEFT JOIN r ON ${keyed(range)} GROUP BY $group")
  }

  testOfCases("sides without rows, without values, and of one value", 5)(for {
    left <- Seq("id", "NULL", "7")
    right <- Seq("id", "NULL", "7")
    rows <- Seq(0, 20)
  } yield (left, right, rows)) { cases =>
    for ((left, right, rows) <- cases) {
      spark.range(0, 20, 1, 3).selectExpr("id", s"CAST($left AS BIGINT) AS t", "1 AS k")
        .createOrReplaceTempView("l")
      spark.range(0, rows.toLong, 1, 3).selectExpr("id", s"CAST($right AS BIGINT) AS t", "1 AS k")
        .createOrReplaceTempView("r")
      val query = ranked("r.t <= l.t", "r.t DESC", "rank()", shown = "r.id AS rid")
      compare(query, Seq(1, 6).map(inBuckets), engines)(_ => true)
    }
  }

  test("values at the ends of the type go to all buckets") {
    import spark.implicits._
    val ends = Seq(Long.MinValue, Long.MinValue + 1, -5L, 0L, 5L, Long.MaxValue - 1, Long.MaxValue)
    view("l", ends.zipWithIndex.toDF("t", "id"))
    val cases = for {
      pair <- ends.combinations(2).toSeq
      range <- Seq("r.t <= l.t", "r.t < l.t", "r.t >= l.t", "r.t > l.t")
    } yield (pair, range)
    for ((pair, range) <- oneIn(17)(cases)) {
      view("r", pair.toDF("t"))
      val direction = if (range.contains("<")) "DESC" else "ASC"
      checkCopies(ranked(range, s"r.t $direction"), buckets = Some(6))
    }
  }

  test("bounds that raise or overflow") {
    import spark.implicits._
    val values = Seq(Int.MinValue, Int.MinValue + 3, 0, 1, 2, Int.MaxValue - 3, Int.MaxValue)
    view("l", values.zipWithIndex.toDF("t", "id"))
    view("r", values.init.init.zipWithIndex.toDF("t", "id"))
    for (ansi <- Seq(true, false)) withConf("spark.sql.ansi.enabled" -> ansi.toString) {
      for (range <- Seq("r.t + 5 <= l.t", "r.t + 5 >= l.t"))
        checkCopies(ranked(range, "r.t DESC"), best = ansi, buckets = Some(6))
      // Of an owner's row whose bound is unknown all pairs have to be looked at.
      for (range <- Seq("r.t <= l.t - 2", "r.t >= l.t + 2"); if !ansi)
        checkCopies(ranked(range, "r.t DESC"), best = false, buckets = Some(6))
    }
  }

  test("a row whose bound raises does so, in whatever bucket the rows of the owner are") {
    import spark.implicits._
    view("l", (100 to 110).zipWithIndex.toDF("t", "id"))
    view("r", ((0 to 50) :+ Int.MaxValue).toDF("t"))
    for (flag <- Seq("false", "true"); engine <- engines) {
      withConf(inBuckets(6).settings ++ engine :+ ("spark.sql.ansi.enabled" -> "true"): _*) {
        withConf(Flag -> flag) {
          val df = spark.sql(ranked("r.t + 5 <= l.t", "r.t DESC"))
          assert(intercept[Exception](df.collect()).getMessage.contains("ARITHMETIC_OVERFLOW"))
          if (flag == "true") assert(copiesBest(df).contains(true), executedPlan(df))
        }
      }
    }
  }

  test("other conditions and other orders need all copies") {
    spread(60, 80, 8)
    for (more <- Seq("r.v <> l.v", "r.v + l.v > 3")) {
      checkCopies(ranked(s"r.t <= l.t AND $more", "r.t DESC"), best = false)
    }
    checkCopies(ranked("r.t <= l.t", "r.v DESC", shown = "r.v AS rv"), best = false)
    checkCopies(
      s"SELECT l.id, max(r.t), count(*) FROM l LEFT JOIN r ON ${keyed("r.t <= l.t")} GROUP BY l.id",
      best = false)
    // A condition of the right side alone is asked below the join.
    checkCopies(ranked("r.t <= l.t AND r.v > 1", "r.t DESC"))
  }

  testOfCases("of an inner join the side that is ranked for is the owner, larger or not", 2)(
    Seq((400, 60, Seq("ASC", "DESC")), (60, 400, Seq("DESC", "ASC")))) { sizes =>
    for ((left, right, directions) <- sizes) {
      spread(left, right, 9)
      for ((range, direction) <- Seq("r.t <= l.t", "r.t > l.t").zip(directions))
        checkCopies(ranked(range, s"r.t $direction", limit = 2, joinType = "INNER"))
      checkCopies(s"SELECT l.id, max(r.t) FROM l JOIN r ON ${keyed("r.t <= l.t")} GROUP BY l.id")
      checkCopies(s"SELECT r.id, min(l.t) FROM l JOIN r ON ${keyed("r.t <= l.t")} GROUP BY r.id")
    }
  }

  test("a bucket has no more copies than there are ranks and tasks") {
    spark.range(0, 5000, 1, 4).selectExpr("id", "id AS t", "1 AS k").createOrReplaceTempView("l")
    spark.range(0, 5000, 1, 4).selectExpr("id", "id * 7 % 5000 AS t", "1 AS k")
      .createOrReplaceTempView("r")
    for (limit <- Seq(1, 3); engine <- engines)
      withConf(inBuckets(10).settings ++ engine: _*) {
        val df = spark.sql(ranked("r.t <= l.t", "r.t DESC", limit = limit))
        df.collect()
        val copies = numCopies(df)
        assert(copies > 0 && copies <= 10 * 4 * limit, executedPlan(df))
      }
  }

  test("rows that come when much has been kept go to all buckets", Slow) {
    spark.range(0, 40, 1, 1).selectExpr("id", "id * 10 AS t", "1 AS k").createOrReplaceTempView("l")
    // 300 ties of 30 KB in one task.
    spark.range(0, 300, 1, 1).selectExpr("id", "id % 2 AS t", "1 AS k", "repeat('x', 30000) AS s")
      .createOrReplaceTempView("r")
    val query = ranked("r.t <= l.t", "r.t DESC", "rank()", shown = "r.id AS rid, length(r.s) AS n0")
    checkCopies(query, best = true, buckets = Some(6))
  }
}
