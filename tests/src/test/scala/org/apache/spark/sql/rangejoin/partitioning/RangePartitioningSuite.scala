// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

/** What suites of joins by range buckets share. */
trait RangePartitioningTest extends BucketsTest {

  override protected val Buckets: String = InternalConf.RangePartitioningBuckets.key

  protected def bucketNodes(df: DataFrame): Seq[RangeBucketExec] =
    collect(executedPlan(df)) { case b: RangeBucketExec => b }

  override protected def bucketEngines: Seq[Settings] = Engines

  override protected def rowsByBuckets(
      df: DataFrame,
      joins: Int,
      settings: Settings): Seq[String] = {
    val planned = executedPlan(df).toString
    assert(bucketNodes(df).size == 2 * joins, planned)
    val isAdaptive = settings.toMap.apply(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key)
    assert(planned.contains("AdaptiveSparkPlan") == isAdaptive.toBoolean, planned)
    rows(df)
  }
}

/** Joins without keys, by range buckets, against stock Spark. */
class RangePartitioningSuite extends RangePartitioningTest with BucketLaws {

  override protected def keyed(range: String): String = range

  override protected def key: String = "0"

  override protected def types: Seq[String] = Seq(
    "STRING",
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
    "BINARY",
    "STRING COLLATE UTF8_LCASE",
    "INTERVAL DAY TO SECOND",
    "STRUCT<a: INT, b: STRING>",
    "ARRAY<INT>"
  )

  testOfCases("bands, distances and differences, of whole numbers and of floating point", 13)(for {
    dataType <- Seq("INT", "BIGINT", "DOUBLE", "FLOAT")
    mode <- Seq(true, false)
    shape <- Seq(
      "r.p BETWEEN l.p - 3 AND l.p + 3",
      "abs(l.p - r.p) <= 4",
      "l.p - r.p BETWEEN -2 AND 5",
      "r.p + 1 > l.p AND r.p - 5 < l.p")
    joinType <- Seq(Inner, LeftOuter)
  } yield (dataType, mode, shape, joinType)) { cases =>
    for ((dataType, mode, shape, joinType) <- cases) {
      intervals(dataType)
      ansi(mode)(checkShape(shape, joinType, 7))
    }
  }

  testOfCases("NaN, zeros of both signs and infinities", 4)(for {
    shape <- Seq(
      "r.p BETWEEN l.p - 2 AND l.p + 2",
      "l.p <= r.p AND l.p >= r.p",
      "l.p >= r.p",
      "l.p - r.p <= 1",
      "abs(l.p - r.p) <= 2")
    joinType <- Seq(Inner, LeftOuter, LeftAnti)
  } yield (shape, joinType)) { cases =>
    val numbers = "NaN Infinity -Infinity 0.0 -0.0 1.5 -1.5 1e300".split(' ').toSeq
    val values = numbers.map(v => s"'$v'") :+ "NULL"
    tables("p DOUBLE")(values: _*)(values.reverse: _*)
    for ((shape, joinType) <- cases) checkShape(shape, joinType, 60)
  }

  // They differ in what is left out, or before it.
  testOfCases("values that are too wide for a sample", 7)(for {
    wide <- Seq(
      "concat(repeat('é', 700), %s)",
      "concat(%s, repeat('é', 700))",
      "IF(id % 3 = 0, %s, concat(%s, repeat('é', 700)))",
      "array(concat(%s, repeat('é', 700)))"
    )
    shape <- Intervals
    joinType <- Seq(Inner, LeftOuter)
  } yield (wide, shape, joinType)) { cases =>
    for ((wide, shape, joinType) <- cases) {
      intervals("STRING")
      for (name <- Seq("l", "r")) {
        val columns = Seq("p", "s", "e").map(c => s"${wide.replace("%s", c)} AS $c")
        spark.table(name).selectExpr("id" +: columns: _*).createOrReplaceTempView(name)
      }
      checkShape(shape, joinType, 7)
    }
  }
}
