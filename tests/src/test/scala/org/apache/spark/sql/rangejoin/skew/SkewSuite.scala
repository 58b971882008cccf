// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest.{AdaptiveEngines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine
import org.apache.spark.sql.rangejoin.partitioning.{BucketLaws, BucketsTest}
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

import org.scalatest.tagobjects.Slow

/** What suites of joins with skewed keys share. */
trait SkewTest extends BucketsTest {

  override protected val Buckets: String = InternalConf.SkewBuckets.key

  /** The nodes that divide rows of the join's shuffles. */
  protected def shuffles(df: DataFrame): Seq[SkewReshuffleExec] =
    collect(executedPlan(df)) { case node: SkewReshuffleExec => node }

  override protected def bucketEngines: Seq[Settings] = AdaptiveEngines

  /** That keys are split is seen only once the join has run. */
  override protected def rowsByBuckets(
      df: DataFrame,
      joins: Int,
      settings: Settings): Seq[String] = {
    val found = rows(df)
    assert(shuffles(df).size == 2 * joins, executedPlan(df))
    found
  }
}

/** Joins with keys that are split by the range, against stock Spark. */
class SkewSuite extends SkewTest with BucketLaws {

  override protected def key: String = "int(IF(id % 8 = 0, NULL, id % 3))"

  override protected def types: Seq[String] =
    Seq("TIMESTAMP", "BIGINT", "DOUBLE", "DECIMAL(38,4)", "STRING", "STRING COLLATE UTF8_LCASE")

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
      val found = Seq(Inner, LeftAnti).map(checkShape(shape, _, 7))
      assert(found.head > 0, key)
    }
  }

  testOfCases("several keys, null-safe equality, and a computed key", 5)(for {
    joinType <- Seq(Inner, LeftOuter, RightOuter, LeftAnti)
    (condition, count) <- Seq(
      s"l.k = r.k AND l.id % 2 = r.id % 2 AND $Around" -> 30,
      s"l.k <=> r.k AND $Overlap" -> 30,
      s"l.k + 1 = r.k AND $Within" -> 7)
  } yield (joinType, condition, count)) { cases =>
    intervals()
    for ((joinType, condition, count) <- cases)
      checkBuckets(joinOn(joinType, condition), counts = Seq(count))
  }

  testOfCases("keys that one side does not have", 5)(typesAndIntervals) { cases =>
    tables("k INT, p INT, s INT, e INT")(
      (1 to 20).map(i => s"${i % 2}, $i, $i, ${i + 3}"): _*)(
      (1 to 20).map(i => s"${1 + i % 2}, $i, $i, ${i + 3}"): _*)
    for ((joinType, shape) <- cases) checkShape(shape, joinType, 7)
  }

  test("many rows of a NULL key are scattered, and kept by the joins that keep them", Slow) {
    intervals(key = "int(IF(id % 8 = 0, 1, NULL))", rows = 400)
    for (joinType <- BucketTypes) checkShape(Around, joinType, 7)
  }

  test("a few rows are longer than all that a sample has seen") {
    spark.sql("""SELECT int(id) AS id, 1 AS k, int(id * 50) AS s,
      int(id * 50 + IF(id % 4999 = 7, 600000, id % 3)) AS e FROM range(0, 20000, 1, 2)""")
      .createOrReplaceTempView("l")
    spark.sql("SELECT int(id) AS id, 1 AS k, int(id * 5003) AS p FROM range(0, 200, 1, 2)")
      .createOrReplaceTempView("r")
    assert(checkShape("r.p BETWEEN l.s AND l.e", LeftOuter, 40) > 20300)
  }
}
