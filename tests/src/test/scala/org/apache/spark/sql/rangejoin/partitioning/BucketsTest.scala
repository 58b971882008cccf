// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

/**
 * What suites of joins by buckets of a range share: conditions of two tables with a point `p` and an interval from `s`
 * to `e`, such tables, and every join under several numbers of buckets.
 */
trait BucketsTest extends SemanticsTest {

  protected val Within = "r.p BETWEEN l.s AND l.e"
  protected val Around = "l.p BETWEEN r.s AND r.e"
  protected val Overlap = "l.s <= r.e AND r.s <= l.e"
  protected val StrictOverlap = "l.s < r.e AND r.s < l.e"
  protected val HalfOpen = "l.p > r.s AND l.p <= r.e"
  protected val UpTo = "l.p <= r.p"
  protected val Above = "l.p > r.p"

  /** A point in an interval of either side, and two intervals. */
  protected val Intervals: Seq[String] = Seq(Within, Around, Overlap)

  /** A value of a type that rises with a number. */
  private def value(dataType: String, number: String): String = dataType match {
    case "DATE"          => s"date_add(DATE'2024-01-01', int($number))"
    case "TIMESTAMP"     => s"timestamp_seconds(1700000000 + ($number) * 3600)"
    case "TIMESTAMP_NTZ" => s"cast(timestamp_seconds(1700000000 + ($number) * 60) AS TIMESTAMP_NTZ)"
    case "STRING" | "STRING COLLATE UTF8_LCASE" | "BINARY" =>
      s"cast(concat('same prefix ', IF($number % 2 = 0, 'A', 'a'), lpad($number, 4, '0')) AS $dataType)"
    case "INTERVAL DAY TO SECOND"    => s"make_dt_interval(0, int($number))"
    case "STRUCT<a: INT, b: STRING>" =>
      s"named_struct('a', int($number) DIV 5, 'b', string($number % 5))"
    case "ARRAY<INT>" => s"array(int($number) DIV 5, int($number) % 5)"
    case _            => s"cast($number AS $dataType)"
  }

  /**
   * Tables `l` and `r` with a key, a point `p` and an interval `s` to `e`, some of them NULL or inverted, some of them
   * long.
   */
  protected def keyedIntervals(dataType: String, key: String, rows: Int): Unit =
    for ((name, seed) <- Seq("l" -> 7, "r" -> 11)) {
      val n = s"((id * $seed * 37) % 83)"
      val length = "CASE WHEN id % 13 = 0 THEN 60 WHEN id % 7 = 0 THEN -3 ELSE id % 5 END"
      spark.sql(s"""SELECT int(id) AS id, $key AS k,
        IF(id % 9 = 0, NULL, ${value(dataType, n)}) AS p,
        IF(id % 10 = 0, NULL, ${value(dataType, n)}) AS s,
        IF(id % 11 = 0, NULL, ${value(dataType, s"greatest(0, $n + $length)")}) AS e
        FROM range(1, ${rows + 1}, 1, 3)""").createOrReplaceTempView(name)
    }

  /** The setting that says how many buckets there are. */
  protected def Buckets: String

  /** The join types whose rows can be in buckets. */
  protected val BucketTypes: Seq[String] = JoinTypes.filter(_ != FullOuter)

  /** Values of a BIGINT `p` about the ends of the type and about 0. */
  protected val Extremes: Seq[String] = {
    val max = Long.MaxValue
    Seq(s"$max", s"${max - 1}", s"${-max}", s"${-max} - 1", "0", "1", "-1", "NULL", "5", "6")
  }

  /** Whether under ANSI mode, a condition of which bounds overflow or raise for some of these, and a join type. */
  protected def unknownBounds(more: String*): Seq[(Boolean, String, String)] = for {
    ansi <- Seq(true, false)
    condition <- Seq(
      "r.p BETWEEN l.p - 2 AND l.p + 2",
      "l.p BETWEEN r.p - 2 AND r.p + 2",
      "abs(l.p - r.p) <= 2",
      "r.p BETWEEN 10 DIV l.p AND l.p") ++ more
    joinType <- Seq(Inner, RightOuter, LeftAnti)
  } yield (ansi, condition, joinType)

  /**
   * Tables of sums that are one expression for Spark, whose canonical form has terms in another order, and two
   * numbers: the value of the other side is the greater one.
   *
   * @return the range that has it between both
   */
  protected def sumsInTwoOrders(): String = {
    val numbers =
      (0 until 600).map(i => (i, 0.1 * (1 + i % 97), 0.2 * (1 + i % 91), 0.3 * (1 + i % 83)))
    val greater = numbers.collect {
      case (i, a, b, c) if (a + b) + c != (c + b) + a =>
        (i, 0, math.max((a + b) + c, (c + b) + a))
    }
    assert(greater.size > 50)
    spark.createDataFrame(numbers.map { case (i, a, b, c) => (i, 0, a, b, c) })
      .toDF("id", "k", "a", "b", "c").createOrReplaceTempView("l")
    spark.createDataFrame(greater).toDF("id", "k", "v").createOrReplaceTempView("r")
    "(l.a + l.b) + l.c <= r.v AND (l.c + l.b) + l.a >= r.v"
  }

  /**
   * Compares with stock under several numbers of buckets, each with one of the engines.
   *
   * @param run gives the rows of a query under these settings, whose plan it looks at
   */
  protected def checkBuckets(
      query: => DataFrame,
      joins: Int,
      counts: Seq[Int],
      settings: Settings,
      engines: Seq[Settings]
  )(run: (DataFrame, Settings) => Seq[String]): Int = {
    val expected = withConf(settings ++ RangeJoinTest.Oracle: _*)(rows(query))
    counts.zipWithIndex.foreach { case (count, i) =>
      val engine = engines(Math.floorMod(expected.hashCode + i, engines.size))
      withConf((engine ++ settings) :+ (Buckets -> count.toString): _*) {
        val df = query
        assert(rangeJoins(df).size == joins, executedPlan(df))
        val found = run(df, engine ++ settings)
        assertSameRows(found, expected, s"under $count buckets, $engine\n${executedPlan(df)}")
      }
    }
    expected.size
  }
}
