/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.prepared

import java.nio.file.{Files, NoSuchFileException, Path, Paths, StandardCopyOption}
import java.util.TimeZone

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.{FileSourceScanExec, SortExec}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.rangejoin.{RangeJoinConf, RangeJoinTest}

import org.scalatest.Outcome

/** Joins of tables that are bucketed by key and sorted by (key, range column). */
class PreparedTablesSuite extends RangeJoinTest {
  import PreparedTablesSuite._
  import RangeJoinTest._

  // Else a distance may wrap around, is not known to rise with its column, and is sorted by.
  override protected def withFixture(test: NoArgTest): Outcome =
    ansi(on = true)(super.withFixture(test))

  private val Within = "r.t between l.t - 5 and l.t + 5"

  /** Keys with ties and NULLs, some of them of one side only. */
  private def table(rows: Int, seed: Int, distinct: Int = 12): DataFrame =
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
  private def write(
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

  private def withTables(names: String*)(body: => Unit): Unit =
    try body
    finally names.foreach(name => spark.sql(s"DROP TABLE IF EXISTS $name"))

  private def join(
      left: DataFrame,
      right: DataFrame,
      kind: String = "inner",
      condition: String = s"l.k = r.k and $Within"): DataFrame =
    left.as("l").join(right.as("r"), expr(condition), kind)

  private def merges(df: DataFrame): Seq[MergeFilesExec] =
    collect(executedPlan(df)) { case merge: MergeFilesExec => merge }

  private def sorts(df: DataFrame): Seq[Any] =
    collect(executedPlan(df)) { case sort @ (_: SortExec | _: RangeSortExec) => sort }

  private def shuffles(df: DataFrame): Int =
    collect(executedPlan(df)) { case shuffle: ShuffleExchangeExec => shuffle }.size

  private def assertStreamed(df: => DataFrame, merged: Int = 2, joins: Int = 1): Unit = {
    assert(checkAgainstStock(df, joins) > 0)
    assert(merges(df).size == merged && sorts(df).isEmpty && shuffles(df) == 0, executedPlan(df))
  }

  for (format <- Seq("parquet", "orc"); writers <- Seq(1, 4)) {
    test(s"$format, $writers writers: neither shuffled nor sorted, and rows as stock's") {
      withTables("left_side", "right_side") {
        def save(name: String, df: DataFrame): Unit =
          write(
            name,
            if (writers == 1) df.repartition(3, col("k")) else df.repartition(writers),
            format = format)
        save("left_side", table(300, 1))
        save("right_side", table(200, 2))
        val kinds =
          Seq("inner", "left_outer", "right_outer", "full_outer", "left_semi", "left_anti")
        for (kind <- kinds)
          assertStreamed(join(spark.table("left_side"), spark.table("right_side"), kind))
        val files = merges {
          val df = join(spark.table("left_side"), spark.table("right_side"))
          df.collect()
          df
        }.map(_.metrics("numFiles").value)
        assert(
          files.forall(_ >= (if (writers == 1) 2 else 9)) && (writers > 1 || files.forall(_ <= 3)),
          files)
      }
    }
  }

  test("appends are merged, of a partitioned table too, and under a filter on the partition") {
    withTables("appended", "parts") {
      for (seed <- 1 to 3) write("appended", table(150, seed).repartition(2), mode = "append")
      write("parts", table(200, 5).withColumn("p", col("id") % 4), partitionBy = Seq("p"))
      assertStreamed(join(spark.table("appended"), spark.table("parts")))
      assertStreamed(join(spark.table("appended"), spark.table("parts").where("p > 1")))
      assertStreamed(join(spark.table("parts"), spark.table("parts"), "left_outer"))
      // Some of the files only.
      withConf("spark.sql.sources.partitionOverwriteMode" -> "dynamic") {
        table(90, 6).withColumn("p", col("id") % 2).write.mode("overwrite").insertInto("parts")
        assert(spark.table("parts").where("p > 1").count() > 0)
        assertStreamed(join(spark.table("parts"), spark.table("appended")))
      }
    }
  }

  test("through a projection, a filter, a view and a cache; a bucket that is pruned") {
    withTables("left_side", "right_side") {
      write("left_side", table(300, 1).repartition(3))
      write("right_side", table(200, 2).repartition(3))
      val renamed = spark.table("left_side").where("length(s) = 2 and id % 3 <> 1")
        .selectExpr("k as key", "t as at", "upper(s) as s")
      assertStreamed(join(
        renamed,
        spark.table("right_side"),
        "left_outer",
        "l.key = r.k and r.t between l.at - 5 and l.at + 5 and l.s <> r.s"))
      assertStreamed(join(
        spark.table("left_side").where("k = 4"),
        spark.table("right_side").where("k = 4")))
      spark.table("left_side").createOrReplaceTempView("a_view")
      assertStreamed(join(spark.table("a_view"), spark.table("right_side")))
      val cached =
        join(spark.table("left_side"), spark.table("right_side")).select("l.id", "r.t").cache()
      try {
        val expected = withConf(Oracle: _*)(
          rows(join(spark.table("left_side"), spark.table("right_side")).select("l.id", "r.t")))
        assertSameRows(rows(cached.where("t >= 0 or t is null")), expected, "cached")
      } finally cached.unpersist(blocking = true)
    }
  }

  test("sorted by the key alone: merged by it, and sorted within the rows of a key") {
    withTables("by_key", "right_side") {
      write("by_key", table(300, 1).repartition(3), sortBy = Seq("k"))
      write("right_side", table(200, 2).repartition(3))
      def df = join(spark.table("by_key"), spark.table("right_side"))
      assert(checkAgainstStock(df) > 0)
      assert(merges(df).size == 2 && sorts(df).size == 1, executedPlan(df))
      assert(sorts(df).head.toString.contains("presorted: [k#"))
      // A bound that rises with no column is sorted likewise.
      def computed =
        join(
          spark.table("right_side"),
          spark.table("right_side"),
          condition =
            "l.k = r.k and r.t * r.t between l.t * 2 and l.t * 2 + 40")
      assert(checkAgainstStock(computed) > 0)
      assert(merges(computed).size == 2, executedPlan(computed))
    }
  }

  test("buckets that are coalesced are merged") {
    withTables("six", "three") {
      write("six", table(300, 1).repartition(2), buckets = 6)
      write("three", table(200, 2).repartition(2))
      withConf(SQLConf.COALESCE_BUCKETS_IN_JOIN_ENABLED.key -> "true") {
        assertStreamed(join(spark.table("six"), spark.table("three")))
      }
    }
  }

  test("where the order cannot be used the rows are sorted, as ever") {
    withTables("left_side", "right_side", "by_other") {
      write("left_side", table(300, 1).repartition(3))
      write("right_side", table(200, 2).repartition(3))
      write("by_other", table(200, 2).repartition(3), sortBy = Seq("t"))
      def sorted(df: => DataFrame, merged: Int): Unit = {
        assert(checkAgainstStock(df) > 0)
        assert(merges(df).size == merged && sorts(df).size == 2 - merged, executedPlan(df))
      }
      sorted(join(spark.table("left_side"), spark.table("by_other")), 1)
      withConf(RangeJoinConf.PreparedTables.key -> "false") {
        sorted(join(spark.table("left_side"), spark.table("right_side")), 0)
      }
      withConf(RangeJoinConf.PreparedTablesFiles.key -> "2") {
        sorted(join(spark.table("left_side"), spark.table("right_side")), 0)
      }
      // What says which file a row is from, or depends on the place of a row.
      for (column <- Seq("input_file_name()", "monotonically_increasing_id()")) {
        def df = join(
          spark.table("left_side").selectExpr("*", s"$column as place"),
          spark.table("right_side"),
          "left_outer").withColumn("place", length(col("place").cast("string")) >= 0)
        sorted(df, 1)
      }
      // Shuffled by another key.
      def other = join(
        spark.table("left_side"),
        spark.table("right_side"),
        condition = s"l.s = r.s and $Within")
      assert(checkAgainstStock(other) > 0)
      assert(merges(other).isEmpty && shuffles(other) == 2)
    }
  }

  test("several files of a bucket are open within a bound of bytes, one in any case") {
    withTables("several", "single", "coalesced") {
      write("several", table(300, 1).repartition(3))
      write("single", table(200, 2).repartition(3, col("k")))
      write("coalesced", table(200, 2).repartition(6, col("k")), buckets = 6)
      val largest = filesOf("several").groupBy(bucketOf).values
        .map(_.map(file => Files.size(file)).sum).max
      def merged(sides: (String, String), bytes: Long, settings: (String, String)*): Int =
        withConf(settings :+ (RangeJoinConf.PreparedTablesBytes.key -> bytes.toString): _*) {
          def df = join(spark.table(sides._1), spark.table(sides._2))
          assert(checkAgainstStock(df) > 0)
          merges(df).size
        }
      assert(merged("several" -> "single", largest) == 2)
      assert(merged("several" -> "single", largest - 1) == 1)
      assert(merged("single" -> "single", 0) == 2)
      // No more than a row group of a file is open.
      assert(merged("several" -> "single", 300, "parquet.block.size" -> "100") == 2)
      assert(merged("several" -> "single", 299, "parquet.block.size" -> "100") == 1)
      // Coalesced buckets are several files.
      val coalesce = SQLConf.COALESCE_BUCKETS_IN_JOIN_ENABLED.key -> "true"
      assert(merged("coalesced" -> "single", 0, coalesce) == 1)
      assert(merged("coalesced" -> "single", 1 << 20, coalesce) == 2)
    }
  }

  test("joins that are not ours have stock's plans") {
    withTables("left_side", "right_side") {
      write("left_side", table(300, 1).repartition(3))
      write("right_side", table(200, 2).repartition(3))
      def equal = spark.table("left_side").join(spark.table("right_side"), "k")
      def plan(of: DataFrame) = executedPlan(of).toString.replaceAll("#\\d+", "#")
      assert(plan(equal) == withConf(Flag -> "false")(plan(equal)))
      def ranged = join(spark.table("left_side"), spark.table("right_side"))
      withConf(Flag -> "false")(assert(merges(ranged).isEmpty && sorts(ranged).size == 2))
    }
  }

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
        val messages =
          Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage)
        val message = messages.find(_.contains("not in the order")).getOrElse(fail(error))
        assert(
          message.contains("claims/part-") && message.contains(RangeJoinConf.PreparedTables.key))
      }
      withConf(RangeJoinConf.PreparedTables.key -> "false")(assert(checkAgainstStock(df) > 0))
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

  test("of LIMIT, an empty side and an empty bucket nothing is left behind") {
    withTables("left_side", "right_side", "none") {
      write("left_side", table(3000, 1).repartition(4))
      write("right_side", table(2000, 2).repartition(4))
      write("none", table(200, 2).where("id < 0"))
      withAdaptiveOnAndOff {
        assert(join(
          spark.table("left_side"),
          spark.table("right_side")).limit(7).collect().length == 7)
      }
      assert(checkAgainstStock(join(
        spark.table("left_side"),
        spark.table("none"),
        "left_outer")) == 3000)
      assert(checkAgainstStock(join(
        spark.table("none"),
        spark.table("right_side"),
        "full_outer")) == 2000)
    }
  }

  test("a side that is not read to its end is closed when its bucket is done, not with the task") {
    assume(Files.isDirectory(Descriptors), "open files are counted by Linux's /proc")
    withTables("low", "high") {
      def keys(from: Int) = spark.range(480)
        .selectExpr(s"cast(id % 120 + $from as int) as k", "id as t", "id")
      write("low", keys(0).repartition(2), buckets = 16)
      write("high", keys(1000).repartition(2), buckets = 16)
      val files = filesOf("high").groupBy(bucketOf)
      assert(files.size == 16 && files.values.forall(_.size == 2))
      val folder = filesOf("high").head.getParent.toRealPath().toString
      for (settings <- Engines :+ (Engines.head :+
          ("spark.sql.parquet.enableVectorizedReader" -> "false"))) withConf(settings: _*) {
        val df = join(spark.table("low"), spark.table("high"), "left_outer")
          .select("l.id").coalesce(1)
        assert(merges(df).size == 2 && rangeJoins(df).size == 1, executedPlan(df))
        val open = df.queryExecution.toRdd.mapPartitions { rows =>
          Iterator(rows.map(_ => openFiles(folder)).toArray)
        }.collect()
        assert(open.map(_.length).toSeq == Seq(480))
        val most = open.head.maxBy(_.size)
        assert(most.nonEmpty, "no file was seen to be open: this tests nothing")
        assert(most.size <= 2, s"with $settings: $most")
      }
    }
  }

  test("a task that reads a join twice at a time has all its rows both times") {
    withTables("left_side", "right_side") {
      write("left_side", table(300, 1).repartition(3))
      write("right_side", table(200, 2).repartition(3))
      for (settings <- Engines) withConf(settings: _*) {
        val df = join(spark.table("left_side"), spark.table("right_side"), "left_outer")
        assert(merges(df).size == 2, executedPlan(df))
        val rdd = df.queryExecution.toRdd
        val counts =
          rdd.zipPartitions(rdd)((a, b) => Iterator(a.size -> b.size)).collect().toSeq
        assert(counts.forall { case (a, b) => a == b } && counts.map(_._1).sum >= 300, counts)
      }
    }
  }

  test("above the join there is no input file") {
    withTables("left_side") {
      // Stock Spark takes the function above a join where one side alone is of files.
      withConf(SQLConf.SHUFFLE_PARTITIONS.key -> "3") {
        for (files <- Seq(table(300, 1).repartition(3), table(300, 1).repartition(3, col("k")))) {
          write("left_side", files)
          def df = join(spark.table("left_side"), table(200, 2), "left_outer").selectExpr(
            "l.id",
            "r.id as other",
            "input_file_name() as file",
            "input_file_block_start() as start")
          assert(checkAgainstStock(df) > 0)
          assert(merges(df).size == 1, executedPlan(df))
        }
      }
    }
  }

  test("every partition is read once for each file, and its rows are counted once") {
    withTables("left_side", "right_side") {
      write("left_side", table(300, 1).repartition(3))
      write("right_side", table(200, 2).repartition(3))
      val df = join(spark.table("left_side"), spark.table("right_side"), "full_outer")
      df.collect()
      val scans = collect(executedPlan(df)) { case scan: FileSourceScanExec => scan }
      assert(scans.map(_.metrics("numOutputRows").value).toSet == Set(300L, 200L))
    }
  }

  test("files are those of the time the query runs, not of that it was planned") {
    withTables("parts", "right_side") {
      write(
        "parts",
        table(200, 5).withColumn("p", col("id") % 4).repartition(2),
        partitionBy = Seq("p"))
      write("right_side", table(200, 2).repartition(3))
      def planned(): DataFrame = {
        val df = join(spark.table("parts"), spark.table("right_side"), "left_outer")
        executedPlan(df)
        df
      }
      withAdaptiveOnAndOff {
        val (stock, ours) = (withConf(Flag -> "false")(planned()), planned())
        assert(merges(ours).size == 2 && merges(stock).isEmpty)
        // Files that were there are gone, and others have come.
        table(300, 6).withColumn("p", col("id") % 5).repartition(2)
          .write.mode("overwrite").insertInto("parts")
        val found = rows(ours)
        assert(found.size >= 300)
        assertSameRows(found, rows(stock), "the table has changed")
        assertSameRows(found, rows(planned()), "planned anew")
      }
    }
  }

  private def inTimeZone(zone: String)(body: => Unit): Unit = {
    val before = TimeZone.getDefault
    TimeZone.setDefault(TimeZone.getTimeZone(zone))
    try body
    finally TimeZone.setDefault(before)
  }

  private def withAdaptiveOnAndOff(body: => Unit): Unit =
    for (adaptive <- Seq("true", "false"))
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive)(body)

  /** Has the buckets of a table, of a file each, from another one. */
  private def replaceFiles(table: String, by: String): Unit = {
    for (file <- filesOf(by); bucket = bucketOf(file); to <- filesOf(table)
      if bucketOf(to) == bucket) {
      Files.copy(file, to, StandardCopyOption.REPLACE_EXISTING)
      Files.deleteIfExists(to.resolveSibling(s".${to.getFileName}.crc"))
    }
    spark.catalog.refreshTable(table)
  }

  private def filesOf(table: String): Seq[Path] = {
    val location = spark.sessionState.catalog.getTableMetadata(TableIdentifier(table)).location
    Files.list(Paths.get(location)).iterator.asScala.toSeq
      .filter(_.getFileName.toString.startsWith("part-"))
  }

  private def bucketOf(file: Path): String =
    "_(\\d{5})".r.findFirstMatchIn(file.getFileName.toString).get.group(1)
}

private object PreparedTablesSuite {

  /** One link for each file that this process has open. */
  val Descriptors: Path = Paths.get("/proc/self/fd")

  /** The Parquet files of a folder that are open. */
  def openFiles(folder: String): Set[String] = {
    val all = Files.list(Descriptors)
    try all.iterator.asScala.map { link =>
        // Some are closed by now, as that of the list itself.
        try Files.readSymbolicLink(link).toString
        catch { case _: NoSuchFileException => "" }
      }.filter(file => file.startsWith(folder) && file.endsWith(".parquet")).toSet
    finally all.close()
  }
}
