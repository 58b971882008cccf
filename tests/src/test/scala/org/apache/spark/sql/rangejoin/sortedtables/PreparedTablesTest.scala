// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.SortExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

import org.scalatest.Outcome

/** What suites of prepared tables share: tables that are bucketed and sorted, and joins of them. */
trait PreparedTablesTest extends RangeJoinTest {

  override protected def hasOneEngine: Boolean = true

  // Else a distance may wrap around, is not known to rise with its column, and is sorted by.
  override protected def withFixture(test: NoArgTest): Outcome =
    ansi(on = true)(super.withFixture(test))

  protected val Within = "r.t between l.t - 5 and l.t + 5"

  /** Keys with ties and NULLs, some of them of one side only. */
  protected def table(rows: Int, seed: Int, distinct: Int = 12): DataFrame =
    spark.range(rows).select(
      col("id"),
      when(
        pmod(xxhash64(col("id"), lit(seed)), lit(9)) =!= 0,
        pmod(hash(col("id"), lit(seed)), lit(distinct)))
        .as("k"),
      when(
        col("id") % 11 =!= 0,
        pmod(hash(col("id"), lit(seed + 7)), lit(40)).cast("bigint")).as("t"),
      concat(lit("s"), pmod(col("id"), lit(7))).as("s")
    )

  /** Writes a table; with several writers a bucket has as many files. */
  protected def write(
      name: String,
      df: DataFrame,
      sortBy: Seq[String] = Seq("k", "t"),
      format: String = "parquet",
      buckets: Int = 3,
      mode: String = "overwrite",
      partitionBy: Seq[String] = Nil
  ): Unit = {
    val writer =
      df.write.format(format).mode(mode).bucketBy(buckets, "k").sortBy(sortBy.head, sortBy.tail: _*)
    (if (partitionBy.isEmpty) writer else writer.partitionBy(partitionBy: _*)).saveAsTable(name)
  }

  protected def withTables(names: String*)(body: => Unit): Unit =
    try body
    finally names.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))

  protected def join(
      left: DataFrame,
      right: DataFrame,
      kind: String = "inner",
      condition: String = s"l.k = r.k and $Within"): DataFrame =
    left.as("l").join(right.as("r"), expr(condition), kind)

  /** Tables `left_side` and `right_side`, of three writers each, and others to be dropped. */
  protected def withSides(more: String*)(body: => Unit): Unit =
    withTables(Seq("left_side", "right_side") ++ more: _*) {
      write("left_side", table(300, 1).repartition(3))
      write("right_side", table(200, 2).repartition(3))
      body
    }

  protected def sides(
      kind: String = "inner",
      condition: String = s"l.k = r.k and $Within"): DataFrame =
    join(spark.table("left_side"), spark.table("right_side"), kind, condition)

  protected def merges(df: DataFrame): Seq[MergeFilesExec] =
    collect(executedPlan(df)) { case merge: MergeFilesExec => merge }

  protected def sorts(df: DataFrame): Seq[Any] =
    collect(executedPlan(df)) { case sort @ (_: SortExec | _: RangeSortExec) => sort }

  protected def shuffles(df: DataFrame): Int =
    collect(executedPlan(df)) { case shuffle: ShuffleExchangeExec => shuffle }.size

  protected def assertStreamed(df: => DataFrame, merged: Int = 2, joins: Int = 1): Unit = {
    assert(checkAgainstStock(df, joins) > 0)
    assert(merges(df).size == merged && sorts(df).isEmpty && shuffles(df) == 0, executedPlan(df))
  }

  protected def withAdaptiveOnAndOff(body: => Unit): Unit =
    for (adaptive <- Seq("true", "false"))
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive)(body)

  protected def filesOf(table: String): Seq[Path] = {
    val location = spark.sessionState.catalog.getTableMetadata(TableIdentifier(table)).location
    Files.walk(Paths.get(location)).iterator.asScala.toVector
      .filter(_.getFileName.toString.startsWith("part-"))
  }

  protected def bucketOf(file: Path): String =
    "_(\\d{5})".r.findFirstMatchIn(file.getFileName.toString).get.group(1)
}
