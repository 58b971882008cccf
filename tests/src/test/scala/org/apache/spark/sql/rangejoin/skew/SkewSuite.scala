// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest.{AdaptiveEngines, Engines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.rangejoin.partitioning.BucketsTest
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

import org.scalatest.tagobjects.Slow

/** What suites of joins with skewed keys share. */
trait SkewTest extends BucketsTest {

  override protected val Buckets: String = InternalConf.SkewBuckets.key

  /** The nodes that divide rows of the join's shuffles. */
  protected def shuffles(df: DataFrame): Seq[SkewReshuffleExec] =
    collect(executedPlan(df)) { case node: SkewReshuffleExec => node }

  /**
   * Compares with stock under several numbers of buckets; every join has to have its keys split, which is
   * seen only once it has run.
   */
  protected def checkSplit(
      query: => DataFrame,
      joins: Int = 1,
      counts: Seq[Int] = Seq(1, 2, 7, 200),
      settings: Settings = Nil
  ): Int = checkBuckets(query, joins, counts, settings, AdaptiveEngines) { (df, _) =>
    val found = rows(df)
    assert(shuffles(df).size == 2 * joins, executedPlan(df))
    found
  }
}

/** Joins with keys that are split by the range, against stock Spark. */
class SkewSuite extends SkewTest {

  private val Band = "l.p BETWEEN r.p - 3 AND r.p + 3"

  private def intervals(
      dataType: String = "INT",
      key: String = "int(IF(id % 8 = 0, NULL, id % 3))",
      rows: Int = 60): Unit = keyedIntervals(dataType, key, rows)

  for (joinType <- BucketTypes)
    testOfCases(
      s"$joinType in every shape, by few buckets and by more than there are rows",
      5)(Seq(
      Within -> Seq(2),
      Around -> Seq(7),
      Overlap -> Seq(1, 2, 7, 200),
      StrictOverlap -> Seq(2),
      HalfOpen -> Seq(7),
      UpTo -> Seq(30),
      Above -> Seq(2),
      Band -> Seq(7)
    )) { cases =>
      intervals()
      for ((shape, counts) <- cases) checkSplit(joinOn(joinType, keyed(shape)), counts = counts)
    }

  for (dataType <-
      Seq("BIGINT", "DOUBLE", "DECIMAL(38,4)", "TIMESTAMP", "STRING", "STRING COLLATE UTF8_LCASE")
    if TypesOfLine.knows(dataType))
    test(s"ranges of $dataType", slowIf(dataType != "STRING"): _*) {
      intervals(dataType)
      for ((shape, joinType, count) <- Seq(
          (Within, Inner, 2),
          (Around, LeftOuter, 7),
          (Overlap, RightOuter, 30),
          (StrictOverlap, LeftSemi, 2),
          (HalfOpen, LeftAnti, 7),
          (UpTo, Existence, 30),
          (Above, Inner, 2)
        )) checkSplit(joinOn(joinType, keyed(shape)), counts = Seq(count))
    }

  test("sums of the same numbers in two orders are two bounds") {
    val range = sumsInTwoOrders()
    for (joinType <- Seq(Inner, LeftOuter, LeftAnti))
      checkSplit(joinOn(joinType, s"l.k = r.k AND $range"), counts = Seq(20))
  }

  testOfCases("keys whose equality is not that of their bytes", 4)(
    Seq(
      // Of two branches: Spark 3.5 with Scala 2.13 mixes up the conditions and values of three.
      "CASE id % 4 WHEN 0 THEN 0.0D WHEN 1 THEN -0.0D ELSE IF(id % 4 = 2, double('NaN'), NULL) END" -> Within,
      "CASE id % 4 WHEN 0 THEN -double('NaN') WHEN 1 THEN float(0) ELSE float(-0.0) END" -> Around,
      "cast(CASE id % 3 WHEN 0 THEN 'aB' WHEN 1 THEN 'Ab' ELSE 'c' END AS STRING COLLATE UTF8_LCASE)" -> Overlap,
      "cast(CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'a ' ELSE 'b' END AS STRING COLLATE UTF8_BINARY_RTRIM)" -> Within,
      "named_struct('a', IF(id % 2 = 0, 0.0D, -0.0D), 'b', int(id % 2))" -> Around,
      "array(IF(id % 2 = 0, 0.0D, -0.0D))" -> Overlap,
      "decimal(id % 3)" -> Within
    )) { keys =>
    for ((key, shape) <- keys if TypesOfLine.knows(key)) {
      intervals(key = key)
      val found = for (joinType <- Seq(Inner, LeftAnti))
        yield checkSplit(joinOn(joinType, keyed(shape)), counts = Seq(7))
      assert(found.head > 0, key)
    }
  }

  testOfCases("several keys, null-safe equality, and a computed key", 2)(
    Seq(Inner, LeftOuter, RightOuter, LeftAnti)) { joinTypes =>
    intervals()
    for (joinType <- joinTypes) {
      checkSplit(
        joinOn(joinType, s"l.k = r.k AND l.id % 2 = r.id % 2 AND $Around"),
        counts = Seq(2, 30))
      checkSplit(joinOn(joinType, s"l.k <=> r.k AND $Overlap"), counts = Seq(30))
      checkSplit(joinOn(joinType, s"l.k + 1 = r.k AND $Within"), counts = Seq(7))
    }
  }

  testOfCases("bounds that overflow or raise are unknown, on either side", 5)(unknownBounds()) {
    cases =>
      val ofOneKey = Extremes.map(v => s"1, $v")
      tables("k INT, p BIGINT")(ofOneKey: _*)(ofOneKey.reverse: _*)
      for ((mode, shape, joinType) <- cases) ansi(mode) {
        withConf(Buckets -> "30")(
          checkUnlessStockRaises(joinOn(joinType, keyed(shape)), AdaptiveEngines))
      }
  }

  private def typesAndIntervals: Seq[(String, String)] =
    for (joinType <- BucketTypes; shape <- Intervals) yield (joinType, shape)

  testOfCases("all rows equal, one interval over everything, and no rows on one side", 5)(
    typesAndIntervals) { cases =>
    tables("k INT, p INT, s INT, e INT")(
      Seq.fill(30)("1, 5, 5, 5"): _*)(Seq.fill(20)("1, 5, 5, 5") :+ "1, 5, 0, 9": _*)
    for ((joinType, shape) <- cases)
      checkSplit(joinOn(joinType, keyed(shape)), counts = Seq(7))
    table("l", "k INT, p INT, s INT, e INT")((1 to 50).map(i => s"1, $i, $i, ${i + 1}"): _*)
    table("r", "k INT, p INT, s INT, e INT")("1, 25, -1000, 1000", "1, 1, 60, 70")
    for ((joinType, shape) <- cases)
      checkSplit(joinOn(joinType, keyed(shape)), counts = Seq(7))
  }

  testOfCases("keys that one side does not have", 5)(typesAndIntervals) { cases =>
    tables("k INT, p INT, s INT, e INT")(
      (1 to 20).map(i => s"${i % 2}, $i, $i, ${i + 3}"): _*)(
      (1 to 20).map(i => s"${1 + i % 2}, $i, $i, ${i + 3}"): _*)
    for ((joinType, shape) <- cases)
      checkSplit(joinOn(joinType, keyed(shape)), counts = Seq(7))
  }

  testOfCases("a side without rows", 5)(
    for (empty <- Seq("r", "l"); joinType <- BucketTypes) yield (empty, joinType)) { cases =>
    for ((empty, joinType) <- cases) {
      tables("k INT, p INT, s INT, e INT")(
        (1 to 20).map(i => s"${i % 2}, $i, $i, ${i + 3}"): _*)(
        (1 to 20).map(i => s"${1 + i % 2}, $i, $i, ${i + 3}"): _*)
      emptied(empty)
      val expected = withConf(Flag -> "false")(rows(joinOn(joinType, keyed(Within))))
      for (settings <- Engines) withConf(settings :+ (Buckets -> "7"): _*) {
        val df = joinOn(joinType, keyed(Within))
        assertSameRows(rows(df), expected, executedPlan(df).toString)
      }
    }
  }

  test("many rows of a NULL key are scattered, and kept by the joins that keep them", Slow) {
    intervals(key = "int(IF(id % 8 = 0, 1, NULL))", rows = 400)
    for (joinType <- BucketTypes) checkSplit(joinOn(joinType, keyed(Around)), counts = Seq(7))
  }

  test("a few rows are longer than all that a sample has seen") {
    spark.sql("""SELECT int(id) AS id, 1 AS k, int(id * 50) AS s,
      int(id * 50 + IF(id % 4999 = 7, 600000, id % 3)) AS e FROM range(0, 20000, 1, 2)""")
      .createOrReplaceTempView("l")
    spark.sql("SELECT int(id) AS id, 1 AS k, int(id * 5003) AS p FROM range(0, 200, 1, 2)")
      .createOrReplaceTempView("r")
    val found = for (joinType <- Seq(LeftOuter, LeftAnti))
      yield checkSplit(joinOn(joinType, keyed("r.p BETWEEN l.s AND l.e")), counts = Seq(40))
    assert(found.head > 20300)
  }

  test("a residual condition, and one of a single side", Slow) {
    intervals()
    for (joinType <- BucketTypes) {
      checkSplit(
        joinOn(joinType, keyed("l.p BETWEEN r.s AND r.e AND l.id % 2 <> r.id % 2")),
        counts = Seq(7))
      checkSplit(
        joinOn(joinType, keyed("r.p BETWEEN l.s AND l.e AND l.id > 7 AND r.id < 50")),
        counts = Seq(2))
    }
  }
}
