// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import java.nio.file.{Files, NoSuchFileException, Path, Paths}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

import org.scalatest.tagobjects.Slow

/** Which files of prepared tables are read, how often, and how long they are open. */
class OpenFilesSuite extends PreparedTablesTest {
  import OpenFilesSuite._
  import RangeJoinTest._

  test("several files of a bucket are open within a bound of bytes, one in any case", Slow) {
    withTables("several", "single", "coalesced") {
      write("several", table(300, 1).repartition(3))
      write("single", table(200, 2).repartition(3, col("k")))
      write("coalesced", table(200, 2).repartition(6, col("k")), buckets = 6)
      val largest = filesOf("several").groupBy(bucketOf).values
        .map(_.map(file => Files.size(file)).sum).max
      def merged(sides: (String, String), bytes: Long, settings: (String, String)*): Int =
        withConf(settings :+ (RangeJoinConf.SortedTablesBytes.key -> bytes.toString): _*) {
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

  test("a side that is not read to its end is closed when its bucket is done, not with the task") {
    assume(Files.isDirectory(Descriptors), "open files are counted by Linux's /proc")
    withTables("low", "high") {
      def keys(from: Int, rows: Int) = spark.range(rows)
        .selectExpr(s"cast(id % 120 + $from as int) as k", "id as t", "id")
      write("low", keys(0, 480).repartition(2), buckets = 16)
      // More rows a file than are read ahead.
      write("high", keys(1000, 9600).repartition(2), buckets = 16)
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
    withSides() {
      for (settings <- Engines) withConf(settings: _*) {
        val df = sides("left_outer")
        assert(merges(df).size == 2, executedPlan(df))
        val rdd = df.queryExecution.toRdd
        val counts =
          rdd.zipPartitions(rdd)((a, b) => Iterator(a.size -> b.size)).collect().toSeq
        assert(counts.forall { case (a, b) => a == b } && counts.map(_._1).sum >= 300, counts)
      }
    }
  }

  test("above the join there is no input file", Slow) {
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
    withSides() {
      val df = sides("full_outer")
      df.collect()
      val scans = collect(executedPlan(df)) { case scan: FileSourceScanExec => scan }
      assert(scans.map(_.metrics("numOutputRows").value).toSet == Set(300L, 200L))
    }
  }

  test("files are those of the time the query runs, not of that it was planned", Slow) {
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
}

private object OpenFilesSuite {

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
