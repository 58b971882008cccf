// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

import org.scalatest.tagobjects.Slow

/** Rankings and extremes above a range join, which then gives the best matches of a row alone. */
class BestMatchesSuite extends BestMatchesTest {
  import BestMatchesSuite._
  import BestMatchesTest._

  private def ranked(
      range: String,
      by: String,
      function: String = "row_number()",
      limit: Int = 1,
      joinType: String = "INNER",
      shown: String = "l.id, r.t AS rt"
  ): String = rankedPairs(shown, function, by, joinType, s"l.k = r.k AND $range", limit)

  private def outputRows(df: DataFrame): Long = joinOf(df).metrics("numOutputRows").value

  testOfCases("row_number, rank and dense_rank, from either end of every kind of range", 8)(for {
    (range, joinType) <- Seq(
      UpTo -> "INNER",
      From -> "LEFT",
      Before -> "INNER",
      After -> "LEFT",
      BandBefore -> "INNER",
      InInterval -> "LEFT",
      PointInInterval -> "LEFT",
      Overlap -> "LEFT")
    direction <- Seq("ASC", "DESC")
  } yield (range, joinType, direction)) { cases =>
    bothSides(120, 150, 1)(valueOf("BIGINT"))
    for ((range, joinType, direction) <- cases) {
      check(ranked(
        range,
        s"r.t $direction",
        "row_number()",
        if (direction == "ASC") 1 else 3,
        joinType))
      check(ranked(range, s"r.t $direction", "rank()", 2, joinType, "l.id, r.id AS rid"))
      check(ranked(range, s"r.t $direction", "dense_rank()", 2, joinType, "l.id, r.id AS rid"))
      check(ranked(
        s"$range AND r.v <> l.v",
        s"r.t $direction, r.id",
        "row_number()",
        2,
        joinType,
        "l.id, r.id AS rid"))
    }
  }

  test("a function of all rows that tie beside one of any of them") {
    bothSides(60, 200, 5)(valueOf("BIGINT"))
    for (functions <- Seq(
        "max(r.t), max(struct(r.t, r.id))",
        "max(struct(r.t, r.id)), max(r.t)",
        "max_by(r.t, r.t), max(struct(r.t, r.v, r.id))"
      ))
      check(s"SELECT l.id, $functions FROM l LEFT JOIN r ON l.k = r.k AND $UpTo GROUP BY l.id")
  }

  testOfCases("aggregates of the rows at one end", 5)(for {
    ((range, joinType), i) <- Seq(
      UpTo -> "LEFT",
      From -> "INNER",
      Before -> "LEFT",
      After -> "INNER",
      BandBefore -> "LEFT",
      InInterval -> "INNER",
      PointInInterval -> "LEFT",
      Overlap -> "INNER").zipWithIndex
    ((functions, by), j) <- Seq(
      "max(r.t)" -> "l.id",
      "min(r.t), min(r.t)" -> "l.id",
      "max(struct(r.t, r.id))" -> "l.id",
      "min(struct(r.t, r.id, r.v))" -> "l.v",
      "max_by(r.t, r.t), max(r.t)" -> "l.v % 2, l.k",
      "min_by(r.t + 1, r.t)" -> "l.id"
    ).zipWithIndex
    // Every second function of each range, which the next range does not have.
    if (i + j) % 2 == 0
  } yield (range, joinType, functions, by)) { cases =>
    bothSides(120, 150, 3)(valueOf("BIGINT"))
    for ((range, joinType, functions, by) <- cases) check(
      s"SELECT $by, $functions FROM l $joinType JOIN r ON l.k = r.k AND $range AND r.v <= l.v GROUP BY $by")
    check(
      s"SELECT max(struct(r.t, r.id)) FROM l JOIN r ON l.k = r.k AND ${Ranges.head}",
      forms = Seq(Form("")))
  }

  test("types of the range", Slow) {
    for (range <-
        Seq("INT", "DATE", "TIMESTAMP", "DOUBLE", "FLOAT", "DECIMAL(10, 2)", "SMALLINT")) {
      bothSides(90, 120, 5)(valueOf(range))
      check(ranked("r.t <= l.t", "r.t DESC", "rank()", 2, "LEFT", "l.id, r.id AS rid"))
      check(ranked("r.t >= l.t AND r.t <= l.u", "r.t", "rank()", 1, "LEFT", "l.id, r.id AS rid"))
    }
  }

  testOfCases("a row has no more than its best matches, with and without a residual", 5)(for {
    range <- OneSided
    residual <- Seq("", " AND r.v <> l.v")
    form <- Forms :+ OnDisk
  } yield (range, residual, form)) { cases =>
    bothSides(200, 400, 7)(valueOf("BIGINT"))
    for ((range, residual, form) <- cases; engine <- nextEngine)
      withConf(engine ++ form.settings: _*) {
        val direction = if (range.contains(">=") || range.startsWith("l")) "ASC" else "DESC"
        val df = spark.sql(form.of(ranked(range + residual, s"r.t $direction", limit = 2)))
        df.collect()
        assert(outputRows(df) <= 2 * 200, s"$range as $form under $engine\n${executedPlan(df)}")
      }
  }

  test("a streamed side that is sorted by its key is sorted by its bound as well") {
    bothSides(100, 100, 7)(valueOf("BIGINT"))
    for (range <- OneSided)
      compare(ranked(range, "r.t"), Forms.take(1), nextEngine) { df =>
        val sorts = collect(executedPlan(df)) { case sort: RangeSortExec => sort.sortOrder.size }
        sorts == Seq(2, 2)
      }
  }

  testOfCases("rows in a window that spills, or is small, and an index without room", 5)(for {
    range <- Ranges
    joinType <- Seq("INNER", "LEFT") if joinType == "LEFT" || range != PointInInterval
  } yield (range, joinType)) { cases =>
    bothSides(120, 200, 9)(valueOf("BIGINT"))
    for ((range, joinType) <- cases) {
      val query = ranked(range, "r.t DESC, r.id", "row_number()", 2, joinType, "l.id, r.id AS rid")
      check(query, forms = Forms.take(2).map(_.copy(settings = Cramped)))
    }
  }

  test("values next to the extremes, beside an open end", Slow) {
    val ends = Seq(Long.MinValue, Long.MinValue + 1, 0L, Long.MaxValue - 1, Long.MaxValue)
    val l = Seq((1, None), (2, Some(0L)), (3, Some(Long.MinValue)), (4, Some(Long.MaxValue)))
    import spark.implicits._
    l.toDF("id", "e").selectExpr("id", "1 AS k", "e").createOrReplaceTempView("l")
    for {
      values <- Seq(ends, ends.reverse)
      _ = values.toDF("t").selectExpr("1 AS k", "t").createOrReplaceTempView("r")
      range <- Seq("r.t < l.e", "r.t <= l.e", "l.e < r.t", "l.e <= r.t")
      direction <- Seq("ASC", "DESC")
    } check(ranked(s"(l.e IS NULL OR $range)", s"r.t $direction"))
  }

  test("without a key, by range buckets and over a broadcast") {
    bothSides(120, 150, 11)(valueOf("BIGINT"))
    for (joinType <- Seq("INNER", "LEFT")) {
      val query = s"""SELECT l.id, max(struct(r.t, r.id))
                     |FROM l $joinType JOIN r ON r.t BETWEEN l.t AND l.u GROUP BY l.id""".stripMargin
      check(query, forms = Seq(byBuckets(5), Forms.last))
    }
  }

  test("keys that are split") {
    bothSides(200, 300, 13)(valueOf("BIGINT"))
    val split = Forms.head.copy(settings = Seq("spark.sql.join.skew.buckets" -> "4"))
    for (joinType <- Seq("INNER", "LEFT"); direction <- Seq("ASC", "DESC")) {
      val by = s"r.t $direction, r.id"
      check(
        ranked("r.t BETWEEN l.t AND l.u", by, "row_number()", 2, joinType, "l.id, r.id AS rid"),
        forms = Seq(split))
    }
  }

  test("what is ranked otherwise has all matches", Slow) {
    bothSides(60, 80, 17)(valueOf("BIGINT"))
    val range = "r.t <= l.t"
    val merge = Seq(Forms.head)
    // Partitions of the side that is ranked, or of both.
    check(
      s"""SELECT * FROM (SELECT l.t, r.v, row_number() OVER (PARTITION BY r.v ORDER BY r.t DESC) n
         |FROM l JOIN r ON l.k = r.k AND $range) WHERE n = 1""".stripMargin.replace(
        "l.t, r.v",
        "r.v"),
      best = false,
      merge
    )
    check(
      s"SELECT l.id, r.v, max(r.t) FROM l JOIN r ON l.k = r.k AND $range GROUP BY l.id, r.v",
      best = false,
      merge)
    // Another order, other aggregates beside it, some of the rows, both ends.
    check(ranked(range, "r.id", shown = "l.id, r.id AS rid"), best = false, merge)
    for (functions <- Seq(
        "max(r.t), count(*)",
        "max(r.t) FILTER (WHERE r.v > 2)",
        "max(r.t), min(r.t)",
        "count(DISTINCT r.t)",
        "max(r.id)"))
      check(
        s"SELECT l.id, $functions FROM l JOIN r ON l.k = r.k AND $range GROUP BY l.id",
        best = false,
        merge)
    // Rows of the ranked side without a match.
    check(
      s"SELECT l.id, max(r.t) FROM l RIGHT JOIN r ON l.k = r.k AND $range GROUP BY l.id",
      best = false,
      merge)
    // The side with intervals would have to be in the window.
    check(ranked(PointInInterval, "r.t DESC", "rank()"), best = false, merge)
    withConf(RangeJoinConf.BestMatches.key -> "false") {
      check(ranked(range, "r.t DESC"), best = false)
    }
  }

  test("the other side may be asked for its best matches, too", Slow) {
    bothSides(100, 100, 19)(valueOf("BIGINT"))
    for {
      ((range, joinType), i) <- Seq(
        UpTo -> "INNER",
        From -> "RIGHT",
        Before -> "INNER",
        After -> "RIGHT",
        BandBefore -> "RIGHT",
        InInterval -> "RIGHT",
        PointInInterval -> "INNER",
        Overlap -> "RIGHT").zipWithIndex
      direction = if ((i + i / 2) % 2 == 0) "ASC" else "DESC"
    } {
      check(
        s"""SELECT * FROM (
           |  SELECT l.t, r.id, rank() OVER (PARTITION BY r.id ORDER BY l.t $direction) AS n
           |  FROM l $joinType JOIN r ON l.k = r.k AND $range)
           |WHERE n <= 2""".stripMargin,
        forms = Seq(Forms.head)
      )
    }
  }

  test("reports say why all matches are ranked") {
    bothSides(20, 20, 23)(valueOf("BIGINT"))
    val join = "FROM l JOIN r ON l.k = r.k AND r.t <= l.t"
    def ranking(partition: String, order: String) =
      s"SELECT * FROM (SELECT row_number() OVER (PARTITION BY $partition ORDER BY $order) AS n $join) WHERE n = 1"
    val advice = Seq(
      ranking("l.id, r.v", "r.t") -> "partition by columns of one side alone",
      ranking("l.id", "l.t + r.t") -> "order by a column of the other side",
      ranking("l.id", "r.v") -> "order by a column that the range rises with, and not by r.v",
      ranking(
        "l.id",
        "r.t").replace("JOIN r", "RIGHT JOIN r") -> "write an INNER join, or an outer one"
    )
    for ((query, remedy) <- advice) {
      val report = only(JoinReports.of(executedPlan(spark.sql(query))))
      assert(report.advice.exists(_.contains(s"to produce only the best ones, $remedy")), report)
    }
    val built = ranking("l.id", "r.t DESC").replace("SELECT row", "SELECT /*+ BROADCAST(l) */ row")
    val report = only(JoinReports.of(executedPlan(spark.sql(built))))
    assert(report.advice.exists(_.contains("let Spark broadcast the other side")), report)
  }

  test("EXPLAIN names what is wanted") {
    bothSides(20, 20, 21)(valueOf("BIGINT"))
    for (form <- Forms) {
      val df = spark.sql(form.of(ranked("r.t <= l.t", "r.t DESC", limit = 3)))
      assert(executedPlan(df).toString.contains("best 3 by t#"))
      assert(executedPlan(df).toString.contains("row_number, range"))
    }
  }
}

object BestMatchesSuite {

  private val UpTo = "r.t <= l.t"
  private val From = "r.t >= l.t"
  private val Before = "r.t < l.t"
  private val After = "l.t < r.t"
  private val BandBefore = "r.t BETWEEN l.t - 20 AND l.t"
  private val InInterval = "r.t > l.t AND r.t <= l.u"
  private val PointInInterval = "r.t <= l.t AND l.t < r.u"
  private val Overlap = "r.t <= l.u AND l.t <= r.u"

  private val OneSided = Seq(UpTo, From, Before, After)

  private val Ranges = OneSided ++ Seq(BandBefore, InInterval, PointInInterval, Overlap)
}
