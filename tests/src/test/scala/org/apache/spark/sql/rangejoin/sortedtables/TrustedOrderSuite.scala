// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import java.nio.file.{Files, StandardCopyOption}
import java.util.TimeZone

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

import org.scalatest.tagobjects.Slow

/** Which orders of files a range join relies on, and that it checks them. */
class TrustedOrderSuite extends PreparedTablesTest {
  import RangeJoinTest._

  test("a file that is not in the order its table claims is an error that names it") {
    withTables("claims", "unsorted", "right_side") {
      write("claims", table(300, 1).repartition(3, col("k")))
      write("right_side", table(200, 2).repartition(3))
      // The same buckets, in another order.
      write("unsorted", table(300, 1).repartition(3, col("k")), sortBy = Seq("id"))
      replaceFiles("claims", "unsorted")
      def df = join(spark.table("claims"), spark.table("right_side"))
      for (settings <- Engines) withConf(settings: _*) {
        val error = intercept[Exception](df.collect())
        val message = causes(
          error).map(_.getMessage).find(_.contains("not in the order")).getOrElse(fail(error))
        assert(
          message.contains("claims/part-") && message.contains(RangeJoinConf.SortedTables.key))
      }
      withConf(RangeJoinConf.SortedTables.key -> "false")(assert(checkAgainstStock(df) > 0))
    }
  }

  test("a further sort column that is not in order is no error") {
    withTables("claims", "unsorted", "right_side") {
      val many = table(2000, 1).repartition(3, col("k"))
      write("claims", many, sortBy = Seq("k", "t", "id"))
      write("unsorted", many.withColumn("other", -col("id")), sortBy = Seq("k", "t", "other"))
      replaceFiles("claims", "unsorted")
      write("right_side", table(200, 2).repartition(3))
      assertStreamed(join(spark.table("claims"), spark.table("right_side")))
      // Nor is the bound where it is not what the rows are to be in order by.
      write("unsorted", table(300, 1).repartition(3, col("k")), sortBy = Seq("k", "id"))
      write("claims", table(300, 1).repartition(3, col("k")))
      replaceFiles("claims", "unsorted")
      def squared = join(
        spark.table("claims"),
        spark.table("right_side"),
        condition = "l.k = r.k and r.t between l.t * l.t and l.t * l.t + 40")
      assert(checkAgainstStock(squared) > 0)
      assert(merges(squared).size == 2, executedPlan(squared))
    }
  }

  test("ORC timestamps that another time zone has written are sorted") {
    withTables("times") {
      // Through the hour that comes twice in Los Angeles, 3 November 2024.
      val times = spark.range(300).selectExpr(
        "cast(id % 2 as int) as k",
        "timestamp_micros(1730606400000000 + id * 120 * 1000000) as t",
        "id")
      inTimeZone("America/Los_Angeles") {
        write("times", times.coalesce(1), format = "orc")
      }
      inTimeZone("UTC") {
        val read = rows(spark.table("times").select("t").orderBy("k", "id"))
        assert(read.distinct.size < 300, "no hour comes twice: this tests nothing")
        def df = join(
          spark.table("times"),
          spark.table("times"),
          condition =
            "l.k = r.k and r.t between l.t - interval 3 minutes and l.t + interval 3 minutes")
        assert(checkAgainstStock(df) > 0)
        assert(merges(df).forall(_.sortOrder.size == 1), executedPlan(df))
        assert(merges(df).size == 2 && sorts(df).size == 2 && shuffles(df) == 0, executedPlan(df))
      }
    }
  }

  testWhere(TypesOfLine.hasCollations)("a column that has got another collation is sorted") {
    withTables("names") {
      val names = spark.range(300).selectExpr(
        "cast(id % 3 as int) as k",
        "concat(if(id % 2 = 0, 'A', 'a'), id) as s",
        "id")
      write("names", names.coalesce(1), sortBy = Seq("k", "s"))
      def df = join(
        spark.table("names"),
        spark.table("names"),
        condition = "l.k = r.k and l.s between r.s and concat(r.s, '5')")
      assert(merges(df).map(_.sortOrder.size) == Seq(2, 2), executedPlan(df))
      spark.sql("ALTER TABLE names ALTER COLUMN s TYPE STRING COLLATE UTF8_LCASE")
      assert(checkAgainstStock(df) > 0)
      assert(merges(df).map(_.sortOrder.size) == Seq(1, 1), executedPlan(df))
      assert(sorts(df).size == 2 && shuffles(df) == 0, executedPlan(df))
    }
  }

  testWhere(TypesOfLine.hasCollations)("a column whose collation was taken away is sorted") {
    withTables("names") {
      spark.sql(
        "CREATE TABLE names (k INT, s STRING COLLATE UTF8_LCASE, id BIGINT) USING parquet " +
          "CLUSTERED BY (k) SORTED BY (k, s) INTO 2 BUCKETS")
      spark.sql(
        "INSERT INTO names SELECT cast(id % 3 AS int), concat(if(id % 2 = 0, 'A', 'a'), id), " +
          "id FROM range(0, 300, 1, 1)")
      spark.sql("ALTER TABLE names ALTER COLUMN s TYPE STRING COLLATE UTF8_BINARY")
      def df = join(
        spark.table("names"),
        spark.table("names"),
        condition = "l.k = r.k and l.s between r.s and concat(r.s, '5')")
      for (settings <- Engines) withConf(settings: _*) {
        assert(checkAgainstStock(df) > 0)
        assertFilesMerged(df, expected = 0)
      }
    }
  }

  test("columns of files whose names differ in case alone") {
    withConf(
      SQLConf.CASE_SENSITIVE.key -> "true",
      SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION.key -> "false",
      "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MILLIS"
    ) {
      for (other <- Seq("T", "u")) withTables("ticks") {
        val ticks = spark.range(600).selectExpr(
          "cast(id % 2 as int) as k",
          s"id as $other",
          "timestamp_micros(1700000000000000 + id * 100) as t",
          "pmod(hash(id), 50) as x")
        write("ticks", ticks.coalesce(1), sortBy = Seq("k", "t", "x"))
        def df = join(
          spark.table("ticks"),
          spark.table("ticks"),
          condition = "l.k = r.k and l.t = r.t and l.x between r.x - 2 and r.x + 2")
        assert(checkAgainstStock(df) > 0)
        assertFilesMerged(df, expected = 0)
      }
    }
  }

  // Days and hours around the change of calendar, ten minutes and more apart.
  private def ancient(step: String) = spark.range(400).selectExpr(
    "cast(id % 2 as int) as k",
    s"timestamp'1582-10-01 00:00:00' + id * interval $step as t",
    s"cast(timestamp'1582-10-01 00:00:00' + id * interval $step as date) as d",
    "pmod(hash(id), 50) as x",
    "id"
  )

  private val Band = "l.t between r.t - interval 3 hours and r.t + interval 3 hours"

  test("times that were written in the calendar of Spark 2 are sorted", Slow) {
    for (kind <- Seq("TIMESTAMP_MICROS", "TIMESTAMP_MILLIS", "INT96"); step <- Seq("97 minutes"))
      withTables("times") {
        withConf(
          "spark.sql.parquet.outputTimestampType" -> kind,
          "spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY",
          "spark.sql.parquet.int96RebaseModeInWrite" -> "LEGACY"
        ) {
          write("times", ancient(step).coalesce(1))
        }
        def df =
          join(spark.table("times"), spark.table("times"), condition = s"l.k = r.k and $Band")
        for (settings <- Engines) withConf(settings: _*) {
          assert(checkAgainstStock(df) > 0, kind)
          assertFilesMerged(df, expected = 0)
        }
      }
  }

  test("days that became the same day in the calendar of Spark 2 have no order after them") {
    for (format <- Seq("parquet", "orc")) withTables("days") {
      withConf(
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> "LEGACY",
        "spark.sql.parquet.int96RebaseModeInWrite" -> "LEGACY") {
        write("days", ancient("97 minutes").coalesce(1), Seq("k", "d", "x"), format)
      }
      def df = join(
        spark.table("days"),
        spark.table("days"),
        condition = "l.k = r.k and l.d = r.d and l.x between r.x - 2 and r.x + 2")
      withConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION.key -> "false") {
        assert(checkAgainstStock(df) > 0, format)
        // The days themselves are in order: of ORC they are merged, and what comes after is sorted.
        assertFilesMerged(df, expected = if (format == "orc") 4 else 0)
      }
    }
  }

  test("timestamps that were cut to milliseconds have no order after them") {
    withTables("ticks") {
      val ticks = spark.range(600).selectExpr(
        "cast(id % 2 as int) as k",
        "timestamp_micros(1700000000000000 + id * 100) as t",
        "pmod(hash(id), 50) as x",
        "id")
      withConf("spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MILLIS") {
        write("ticks", ticks.coalesce(1), sortBy = Seq("k", "t", "x"))
      }
      def table = spark.table("ticks")
      def byTime =
        join(
          table,
          table,
          condition = "l.k = r.k and l.t = r.t and l.x between r.x - 2 and r.x + 2")
      withConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION.key -> "false") {
        assert(checkAgainstStock(byTime) > 0)
        assertFilesMerged(byTime, expected = 0)
      }
      // They are in order themselves.
      def inTime = join(
        table,
        table,
        condition =
          "l.k = r.k and l.t between r.t - interval 1 millisecond and r.t + interval 1 millisecond")
      assert(checkAgainstStock(inTime) > 0)
      assertFilesMerged(inTime, expected = 4)
    }
  }

  test("times that both calendars agree on are not sorted, however they were written") {
    for (isLegacy <- Seq(true, false)) withTables("times") {
      val mode = if (isLegacy) "LEGACY" else "CORRECTED"
      // Old ones that were written as they are, and new ones in either calendar.
      val since = if (isLegacy) "1960-01-01" else "1582-10-01"
      withConf(
        "spark.sql.parquet.outputTimestampType" -> "TIMESTAMP_MICROS",
        "spark.sql.parquet.datetimeRebaseModeInWrite" -> mode) {
        val times = spark.range(400).selectExpr(
          "cast(id % 2 as int) as k",
          s"timestamp'$since 00:00:00' + id * interval 97 minutes as t",
          "id")
        write("times", times.coalesce(1))
      }
      def df = join(spark.table("times"), spark.table("times"), condition = s"l.k = r.k and $Band")
      assert(checkAgainstStock(df) > 0)
      assertFilesMerged(df, expected = 4)
    }
  }

  /** Runs a join, and looks at how many files it has merged; those of other buckets were sorted. */
  private def assertFilesMerged(df: DataFrame, expected: Long): Unit = {
    df.collect()
    val found = merges(df)
    assert(found.size == 2, executedPlan(df))
    assert(found.map(_.metrics("numFiles").value).sum == expected, executedPlan(df))
  }

  test("what a text format reads need not be in the order of what was written") {
    withTables("lines") {
      val trimmed = spark.range(60).selectExpr(
        "cast(id % 3 as int) as k",
        "case when id % 2 = 0 then concat(' z', id) else concat('a', id) end as s",
        "id")
      write("lines", trimmed.coalesce(1), sortBy = Seq("k", "s"), format = "csv")
      def df = join(
        spark.table("lines"),
        spark.table("lines"),
        condition = "l.k = r.k and r.s between l.s and concat(l.s, '5')")
      assert(checkAgainstStock(df) > 0)
      assert(merges(df).isEmpty && sorts(df).size == 2 && shuffles(df) == 0, executedPlan(df))
    }
  }

  private def inTimeZone(zone: String)(body: => Unit): Unit = {
    val before = TimeZone.getDefault
    TimeZone.setDefault(TimeZone.getTimeZone(zone))
    try body
    finally TimeZone.setDefault(before)
  }

  /** Has the buckets of a table, of a file each, from another one. */
  private def replaceFiles(table: String, by: String): Unit = {
    for (file <- filesOf(by); bucket = bucketOf(file); to <- filesOf(table)
      if bucketOf(to) == bucket) {
      Files.copy(file, to, StandardCopyOption.REPLACE_EXISTING)
      Files.deleteIfExists(to.resolveSibling(s".${to.getFileName}.crc"))
    }
    spark.catalog.refreshTable(table)
  }
}
