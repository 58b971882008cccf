// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}

import org.scalatest.tagobjects.Slow

/** Joins of tables that are bucketed by key and sorted by (key, range column). */
class PreparedTablesSuite extends PreparedTablesTest {
  import RangeJoinTest._

  for (format <- Seq("parquet", "orc"); writers <- Seq(1, 4)) {
    test(
      s"$format, $writers writers: neither shuffled nor sorted, and rows as stock's",
      slowIf(format != "parquet" || writers != 4): _*) {
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
          assertStreamed(sides(kind))
        val files = merges {
          val df = sides()
          df.collect()
          df
        }.map(_.metrics("numFiles").value)
        assert(
          files.forall(_ >= (if (writers == 1) 2 else 9)) && (writers > 1 || files.forall(_ <= 3)),
          files)
      }
    }
  }

  test(
    "appends are merged, of a partitioned table too, and under a filter on the partition",
    Slow) {
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

  test("through a projection, a filter, a view and a cache; a bucket that is pruned", Slow) {
    withSides() {
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
        sides().select("l.id", "r.t").cache()
      try {
        val expected = withConf(Oracle: _*)(
          rows(sides().select("l.id", "r.t")))
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

  test("where the order cannot be used the rows are sorted, as ever", Slow) {
    withSides("by_other") {
      write("by_other", table(200, 2).repartition(3), sortBy = Seq("t"))
      def sorted(df: => DataFrame, merged: Int): Unit = {
        assert(checkAgainstStock(df) > 0)
        assert(merges(df).size == merged && sorts(df).size == 2 - merged, executedPlan(df))
      }
      sorted(join(spark.table("left_side"), spark.table("by_other")), 1)
      withConf(RangeJoinConf.SortedTables.key -> "false") {
        sorted(sides(), 0)
      }
      withConf(InternalConf.SortedTablesFiles.key -> "2") {
        sorted(sides(), 0)
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
      def other = sides(condition = s"l.s = r.s and $Within")
      assert(checkAgainstStock(other) > 0)
      assert(merges(other).isEmpty && shuffles(other) == 2)
    }
  }

  testOfCases(
    "beside a plain table: that alone is shuffled, into as many partitions as there are buckets",
    2)(Seq("2", "20")) { numbers =>
    withTables("buckets", "few_buckets") {
      write("buckets", table(300, 1).repartition(3))
      write("few_buckets", table(200, 2).repartition(2), buckets = 2)
      def besidePlain(df: => DataFrame): Unit = {
        assert(checkAgainstStock(df, engines = Engines) > 0)
        withAdaptiveOnAndOff {
          assert(merges(df).size == 1 && sorts(df).size == 1, executedPlan(df))
          val shuffled = collect(executedPlan(df)) { case shuffle: ShuffleExchangeExec => shuffle }
          assert(shuffled.map(_.outputPartitioning.numPartitions) == Seq(3), executedPlan(df))
        }
      }
      // Stock Spark does not prefer its own number, be it larger, where the other side has none.
      for (partitions <- numbers) withConf(SQLConf.SHUFFLE_PARTITIONS.key -> partitions) {
        besidePlain(join(spark.table("buckets"), table(200, 2), "full_outer"))
        besidePlain(join(table(200, 2), spark.table("buckets"), "left_outer"))
        besidePlain(join(spark.table("few_buckets"), spark.table("buckets")))
      }
    }
  }

  test("joins that are not ours have stock's plans") {
    withSides() {
      def equal = spark.table("left_side").join(spark.table("right_side"), "k")
      def plan(query: DataFrame) = executedPlan(query).toString.replaceAll("#\\d+", "#")
      assert(plan(equal) == withConf(Flag -> "false")(plan(equal)))
      def ranged = sides()
      withConf(Flag -> "false")(assert(merges(ranged).isEmpty && sorts(ranged).size == 2))
    }
  }

  test("of LIMIT, an empty side and an empty bucket nothing is left behind") {
    withTables("left_side", "right_side", "none") {
      write("left_side", table(3000, 1).repartition(4))
      write("right_side", table(2000, 2).repartition(4))
      write("none", table(200, 2).where("id < 0"))
      withAdaptiveOnAndOff {
        assert(sides().limit(7).collect().length == 7)
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
}
