// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

import org.scalatest.tagobjects.Slow

/** What suites of joins by range buckets share. */
trait RangePartitioningTest extends BucketsTest {

  override protected val Buckets: String = InternalConf.RangePartitioningBuckets.key

  protected def bucketNodes(df: DataFrame): Seq[RangeBucketExec] =
    collect(executedPlan(df)) { case b: RangeBucketExec => b }

  /** Compares with stock under several numbers of buckets; the join has to be one by buckets. */
  protected def checkPartitioned(
      query: => DataFrame,
      joins: Int = 1,
      counts: Seq[Int] = Seq(1, 2, 7, 200),
      settings: Settings = Nil
  ): Int = checkBuckets(query, joins, counts, settings, Engines) { (df, engine) =>
    val planned = executedPlan(df).toString
    assert(bucketNodes(df).size == 2 * joins, planned)
    val isAdaptive = engine.toMap.apply(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key)
    assert(planned.contains("AdaptiveSparkPlan") == isAdaptive.toBoolean, planned)
    rows(df)
  }
}

/** Joins without keys, by range buckets, against stock Spark. */
class RangePartitioningSuite extends RangePartitioningTest {

  private val Types = Seq(
    "INT",
    "BIGINT",
    "TINYINT",
    "DOUBLE",
    "FLOAT",
    "DECIMAL(9,2)",
    "DECIMAL(38,4)",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "STRING",
    "BINARY",
    "STRING COLLATE UTF8_LCASE",
    "INTERVAL DAY TO SECOND",
    "STRUCT<a: INT, b: STRING>",
    "ARRAY<INT>"
  ).filter(TypesOfLine.knows(_))

  private def intervals(dataType: String, rows: Int = 40): Unit =
    keyedIntervals(dataType, key = "0", rows)

  private val Equal = "l.p BETWEEN r.p AND r.p"

  private val QuickTypes = Set("INT", "STRING")

  for (dataType <- Types) test(s"every shape over $dataType", slowIf(!QuickTypes(dataType)): _*) {
    intervals(dataType)
    val found = for ((shape, joinType, count) <- Seq(
        (Within, LeftOuter, 2),
        (Around, Inner, 7),
        (Overlap, LeftAnti, 200),
        (StrictOverlap, RightOuter, 2),
        (HalfOpen, LeftSemi, 7),
        (UpTo, Existence, 200),
        (Above, Inner, 2),
        (Equal, LeftOuter, 7)
      )) yield checkPartitioned(joinOn(joinType, shape), counts = Seq(count))
    assert(found.count(_ > 0) > found.size / 2)
  }

  for (joinType <- BucketTypes)
    testOfCases(s"$joinType in one bucket, in few and in more than there are rows", 3)(
      Intervals.map(_ -> Seq(1, 2, 7, 200)) ++
        Seq(StrictOverlap, HalfOpen, UpTo, Above, Equal).map(_ -> Seq(7))) { cases =>
      intervals("INT", 60)
      for ((shape, counts) <- cases) checkPartitioned(joinOn(joinType, shape), counts = counts)
    }

  testOfCases("bands, distances and differences, of whole numbers and of floating point", 3)(
    for (dataType <- Seq("INT", "BIGINT", "DOUBLE", "FLOAT"); mode <- Seq(true, false))
      yield (dataType, mode)) { cases =>
    for ((dataType, ansiMode) <- cases) {
      intervals(dataType)
      ansi(ansiMode) {
        for {
          shape <- Seq(
            "r.p BETWEEN l.p - 3 AND l.p + 3",
            "abs(l.p - r.p) <= 4",
            "l.p - r.p BETWEEN -2 AND 5",
            "r.p + 1 > l.p AND r.p - 5 < l.p")
          joinType <- Seq(Inner, LeftOuter)
        } checkPartitioned(joinOn(joinType, shape), counts = Seq(7))
      }
    }
  }

  testOfCases("bounds that overflow or raise are unknown, on either side", 5)(unknownBounds(
    "r.p >= l.p - 2 AND r.p <= l.p",
    "l.p - r.p BETWEEN -2 AND 2")) { cases =>
    tables("p BIGINT")(Extremes: _*)(Extremes.reverse: _*)
    for ((mode, shape, joinType) <- cases) ansi(mode) {
      withConf(Buckets -> "200")(
        checkUnlessStockRaises(joinOn(joinType, shape), nextEngine))
    }
  }

  test("NaN, zeros of both signs and infinities") {
    val values = Seq(
      "double('NaN')",
      "double('Infinity')",
      "double('-Infinity')",
      "0.0D",
      "-0.0D",
      "1.5D",
      "-1.5D",
      "NULL",
      "1e300D")
    tables("p DOUBLE")(values: _*)(values.reverse: _*)
    for {
      shape <- Seq(
        "r.p BETWEEN l.p - 2 AND l.p + 2",
        "l.p <= r.p AND l.p >= r.p",
        "l.p >= r.p",
        "l.p - r.p <= 1",
        "abs(l.p - r.p) <= 2")
      joinType <- Seq(Inner, LeftOuter, LeftAnti)
    } checkPartitioned(joinOn(joinType, shape), counts = Seq(200))
  }

  test("all rows equal, one interval over everything, and no rows on one side", Slow) {
    tables("p INT, s INT, e INT")(
      Seq.fill(30)("5, 5, 5"): _*)(Seq.fill(20)("5, 5, 5") :+ "5, 0, 9": _*)
    for (joinType <- Seq(Inner, LeftOuter, LeftAnti); shape <- Intervals)
      checkPartitioned(joinOn(joinType, shape), counts = Seq(7))
    table("l", "p INT, s INT, e INT")((1 to 50).map(i => s"$i, $i, ${i + 1}"): _*)
    table("r", "p INT, s INT, e INT")("25, -1000, 1000", "1, 60, 70")
    for (joinType <- Seq(Inner, LeftOuter, LeftAnti); shape <- Intervals)
      checkPartitioned(joinOn(joinType, shape), counts = Seq(7))
    for (empty <- Seq("r", "l")) {
      emptied(empty)
      for (joinType <- BucketTypes)
        checkPartitioned(joinOn(joinType, Within), counts = Seq(1, 7))
    }
  }

  // Not INNER: stock's own rows depend on the node.
  test("sums of the same numbers in two orders are two bounds") {
    val range = sumsInTwoOrders()
    for (joinType <- Seq(LeftOuter, LeftSemi, LeftAnti))
      checkPartitioned(joinOn(joinType, range), counts = Seq(40))
  }

  // They differ in what is left out, or before it.
  testOfCases("values that are too wide for a sample", 2)(Seq(
    "concat(repeat('é', 700), %s)",
    "concat(%s, repeat('é', 700))",
    "IF(id % 3 = 0, %s, concat(%s, repeat('é', 700)))",
    "array(concat(%s, repeat('é', 700)))"
  )) { values =>
    for (wide <- values) {
      intervals("STRING")
      for (name <- Seq("l", "r")) {
        val columns = Seq("p", "s", "e").map(c => s"${wide.replace("%s", c)} AS $c")
        spark.table(name).selectExpr("id" +: columns: _*).createOrReplaceTempView(name)
      }
      for (shape <- Intervals; joinType <- Seq(Inner, LeftOuter))
        checkPartitioned(joinOn(joinType, shape), counts = Seq(7))
    }
  }

  test("a residual condition, and one of a single side", Slow) {
    intervals("INT")
    for (joinType <- BucketTypes) {
      checkPartitioned(
        joinOn(joinType, "l.p BETWEEN r.s AND r.e AND l.id % 2 <> r.id % 2"),
        counts = Seq(7))
      checkPartitioned(
        joinOn(joinType, "r.p BETWEEN l.s AND l.e AND l.id > 7 AND r.id < 30"),
        counts = Seq(2))
    }
  }
}
