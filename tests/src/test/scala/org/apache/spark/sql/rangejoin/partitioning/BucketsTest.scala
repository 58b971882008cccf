// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
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

  /** Those that a case may run under. */
  protected def bucketEngines: Seq[Settings]

  /** The rows of a query under settings, of which each join is by buckets, as is seen in its plan. */
  protected def rowsByBuckets(df: DataFrame, joins: Int, settings: Settings): Seq[String]

  /** Compares with stock under several numbers of buckets, each with one of the engines; every join has to be one by these. */
  protected def checkBuckets(
      query: => DataFrame,
      joins: Int = 1,
      counts: Seq[Int] = Seq(1, 2, 7, 200),
      settings: Settings = Nil): Int = {
    val expected = withConf(settings ++ RangeJoinTest.Oracle: _*)(rows(query))
    counts.zipWithIndex.foreach { case (count, i) =>
      val engine = bucketEngines(Math.floorMod(expected.hashCode + i, bucketEngines.size))
      withConf((engine ++ settings) :+ (Buckets -> count.toString): _*) {
        val df = query
        assert(rangeJoins(df).size == joins, executedPlan(df))
        val found = rowsByBuckets(df, joins, engine ++ settings)
        assertSameRows(found, expected, s"under $count buckets, $engine\n${executedPlan(df)}")
      }
    }
    expected.size
  }
}

/** What holds of joins by buckets of a range, with keys that are split and without keys. */
trait BucketLaws extends BucketsTest {

  /** A key of the rows, of which no bucket has all. */
  protected def key: String

  /** Types of the range, the first of which is quick. */
  protected def types: Seq[String]

  private val Band = "l.p BETWEEN r.p - 3 AND r.p + 3"
  private val Equal = "l.p BETWEEN r.p AND r.p"
  private val Columns = "k INT, p INT, s INT, e INT"

  protected def intervals(dataType: String = "INT", key: String = this.key, rows: Int = 50): Unit =
    keyedIntervals(dataType, key, rows)

  protected def checkShape(shape: String, joinType: String, counts: Int*): Int =
    checkBuckets(joinOn(joinType, keyed(shape)), counts = counts)

  /** Each join type with every second shape of some. */
  private def inTurn[T](shapes: Seq[T]): Seq[(String, T)] = for {
    (joinType, i) <- BucketTypes.zipWithIndex
    (shape, j) <- shapes.zipWithIndex
    if (i + j) % 2 == 0 || RangeJoinTest.EveryEngine
  } yield (joinType, shape)

  protected def typesAndIntervals: Seq[(String, String)] = inTurn(Intervals)

  testOfCases("every shape, in one bucket, in few and in more than there are rows", 11)(
    (for (joinType <- BucketTypes; shape <- Intervals; count <- Seq(1, 2, 7, 60))
      yield (joinType, shape, count)) ++
      inTurn(Seq(StrictOverlap, HalfOpen, UpTo, Above, Equal, Band)).map { case (joinType, shape) =>
        (joinType, shape, 7)
      }) { cases =>
    intervals()
    for ((joinType, shape, count) <- cases) checkShape(shape, joinType, count)
  }

  for ((dataType, i) <- types.zipWithIndex if TypesOfLine.knows(dataType))
    test(s"every second shape over $dataType", slowIf(i > 0): _*) {
      intervals(dataType)
      val shapes = Seq(
        (Within, LeftOuter, 2),
        (Around, Inner, 7),
        (Overlap, LeftAnti, 60),
        (StrictOverlap, RightOuter, 2),
        (HalfOpen, LeftSemi, 7),
        (UpTo, Existence, 30),
        (Above, Inner, 2),
        (Equal, LeftOuter, 7)
      ).zipWithIndex.collect { case (shape, j) if (i + j) % 2 == 0 => shape }
      val found =
        for ((shape, joinType, count) <- shapes) yield checkShape(shape, joinType, count)
      assert(found.count(_ > 0) > found.size / 2)
    }

  // Without a key not INNER: stock's own rows depend on the node.
  test("sums of the same numbers in two orders are two bounds") {
    val range = sumsInTwoOrders()
    for (joinType <- Seq(LeftOuter, LeftAnti)) checkShape(range, joinType, 40)
  }

  testOfCases("bounds that overflow or raise are unknown, on either side", 11)(for {
    mode <- Seq(true, false)
    condition <- Seq(
      "r.p BETWEEN l.p - 2 AND l.p + 2",
      "l.p BETWEEN r.p - 2 AND r.p + 2",
      "abs(l.p - r.p) <= 2",
      "r.p BETWEEN 10 DIV l.p AND l.p",
      "r.p >= l.p - 2 AND r.p <= l.p",
      "l.p - r.p BETWEEN -2 AND 2"
    )
    joinType <- Seq(Inner, RightOuter, LeftAnti)
  } yield (mode, condition, joinType)) { cases =>
    val max = Long.MaxValue
    val extremes =
      Seq(s"$max", s"${max - 1}", s"${-max}", s"${-max} - 1", "0", "1", "-1", "NULL", "5", "6")
        .map(v => s"1, $v")
    tables("k INT, p BIGINT")(extremes: _*)(extremes.reverse: _*)
    for ((mode, shape, joinType) <- cases) ansi(mode) {
      withConf(Buckets -> "30")(
        checkUnlessStockRaises(
          joinOn(joinType, keyed(shape)),
          oneIn(bucketEngines.size)(bucketEngines)))
    }
  }

  testOfCases("all rows equal, and one interval over everything", 7)(typesAndIntervals) { cases =>
    tables(Columns)(
      Seq.fill(30)("1, 5, 5, 5"): _*)(Seq.fill(20)("1, 5, 5, 5") :+ "1, 5, 0, 9": _*)
    for ((joinType, shape) <- cases) checkShape(shape, joinType, 7)
    table("l", Columns)((1 to 50).map(i => s"1, $i, $i, ${i + 1}"): _*)
    table("r", Columns)("1, 25, -1000, 1000", "1, 1, 60, 70")
    for ((joinType, shape) <- cases) checkShape(shape, joinType, 7)
  }

  testOfCases("a side without rows", 5)(
    for (empty <- Seq("r", "l"); joinType <- BucketTypes) yield (empty, joinType)) { cases =>
    for ((empty, joinType) <- cases) {
      tables(Columns)(
        (1 to 20).map(i => s"${i % 2}, $i, $i, ${i + 3}"): _*)(
        (1 to 20).map(i => s"${1 + i % 2}, $i, $i, ${i + 3}"): _*)
      emptied(empty)
      def query = joinOn(joinType, keyed(Within))
      val expected = rowsOfStock(query)
      for (settings <- bothEngines)
        withConf(settings :+ (Buckets -> "7"): _*)(assertSameRows(rows(query), expected, joinType))
    }
  }

  testOfCases("a residual condition, and one of a single side", 6)(for {
    joinType <- BucketTypes
    (range, count) <- Seq(
      "l.p BETWEEN r.s AND r.e AND l.id % 2 <> r.id % 2" -> 7,
      "r.p BETWEEN l.s AND l.e AND l.id > 7 AND r.id < 30" -> 2)
  } yield (joinType, range, count)) { cases =>
    intervals()
    for ((joinType, range, count) <- cases) checkShape(range, joinType, count)
  }
}
