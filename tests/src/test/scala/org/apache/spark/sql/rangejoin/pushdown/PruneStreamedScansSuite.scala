// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.pushdown

import java.nio.file.Files

import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, EveryEngine, Settings}
import org.apache.spark.sql.rangejoin.broadcast.Broadcasting
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.types.{Metadata, MetadataBuilder}

import org.scalatest.tagobjects.Slow

/** The scan of a streamed side reads the files that the ranges of an index meet, and no others. */
class PruneStreamedScansSuite extends Broadcasting {

  override protected def hasOneEngine: Boolean = true

  private val Adaptive: Settings = Seq(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "true")

  // Else Spark writes timestamps in an older form, which has no statistics.
  override protected def settings: Settings =
    super.settings :+ (SQLConf.PARQUET_OUTPUT_TIMESTAMP_TYPE.key -> "TIMESTAMP_MICROS")

  /** Eight files of 100 rows; the values of each are beside those of the file before. */
  private def write(
      name: String,
      ofNumber: String,
      format: String = "parquet",
      partitionBy: Seq[String] = Nil): Unit = {
    val rows = spark.range(0, 800, 1, 8)
      .selectExpr("id", "cast(id % 3 as int) as k", s"$ofNumber as p", "id div 100 as part")
    rows.write.format(format).mode("overwrite").partitionBy(partitionBy: _*).saveAsTable(name)
  }

  private def ranges(ofNumber: String, numbers: (Long, Long)*): DataFrame = {
    val session = spark
    import session.implicits._
    numbers.toDF("s", "e").selectExpr(
      "cast(s % 3 as int) as k",
      s"${ofNumber.replace("id", "s")} as s",
      s"${ofNumber.replace("id", "e")} as e")
  }

  private val Between = "l.p between r.s and r.e"

  private def join(
      left: DataFrame,
      right: DataFrame,
      condition: String = Between,
      kind: String = "inner"): DataFrame =
    left.as("l").join(broadcast(right).as("r"), expr(condition), kind)

  private def scans(df: DataFrame): Seq[FileSourceScanExec] =
    collect(executedPlan(df)) { case scan: FileSourceScanExec => scan }

  /** Rows that scans have read, after the rows of the join were compared with stock Spark's. */
  private def rowsRead(df: => DataFrame, settings: Settings = Nil, joins: Int = 1): Long = {
    val engines =
      if (EveryEngine) Engines.map(_ ++ Adaptive).distinct else bothEngines.map(_ ++ Adaptive)
    checkAgainstStock(df, joins, engines.map(_ ++ settings))
    withConf(Adaptive ++ settings: _*) {
      val once = df
      once.collect()
      scans(once).map(_.metrics("numOutputRows").value).sum
    }
  }

  private def withTable(name: String)(body: => Unit): Unit =
    try body
    finally spark.sql(s"DROP TABLE IF EXISTS $name")

  for ((dataType, ofNumber) <- Seq(
      "bigint" -> "id",
      "int" -> "cast(id as int)",
      "date" -> "date_add(date'2024-01-01', cast(id as int))",
      "timestamp" -> "timestamp_seconds(1700000000 + id * 60)",
      "double" -> "cast(id as double) / 4 - 50",
      "float" -> "cast(id as float) / 4 - 50"
    ))
    test(
      s"$dataType: files between ranges, before and after them are not read",
      slowButOneIn(3)(dataType): _*) {
      withTable("events") {
        write("events", ofNumber)
        val two = ranges(ofNumber, 110L -> 130L, 550L -> 610L)
        assert(rowsRead(join(spark.table("events"), two)) == 300)
      }
    }

  test("types and formats of which a literal may not fit the file's type are read whole", Slow) {
    for ((format, ofNumber) <- Seq(
        "parquet" -> "cast(id as decimal(9, 2))",
        "parquet" -> "cast(id as smallint)",
        "parquet" -> "cast(date_add(date'2024-01-01', cast(id as int)) as timestamp_ntz)",
        "orc" -> "id"
      )) withTable("events") {
      write("events", ofNumber, format)
      assert(rowsRead(join(spark.table("events"), ranges(ofNumber, 110L -> 130L))) == 800)
    }
  }

  test("files of a narrower type than the column") {
    def isMatched(written: String, read: String): Boolean = {
      val folder = Files.createTempDirectory("pruned").resolve("files").toString
      spark.range(1).selectExpr(s"cast(1 as $written) as p").write.parquet(folder)
      def files = spark.read.schema(s"p $read").parquet(folder)
      val right = ranges("id", 0L -> 3000000000L)
        .selectExpr(s"cast(s as $read) as s", s"cast(e as $read) as e")
      // Not every line reads all of them.
      val isRead = Try(files.collect()).isSuccess
      if (isRead) {
        assert(checkAgainstStock(join(files, right), engines = bothEngines.map(_ ++ Adaptive)) == 1)
      }
      isRead
    }
    val ofDecimals = isMatched("decimal(9, 2)", "decimal(18, 2)")
    val ofBytes = withConf(SQLConf.PARQUET_WRITE_LEGACY_FORMAT.key -> "true") {
      isMatched("decimal(5, 2)", "decimal(18, 2)")
    }
    val ofLongs = isMatched("int", "bigint")
    assert(ofDecimals || ofBytes || ofLongs, "nothing was read: this tests nothing")
  }

  test("a partition column that files have too, however it is spelled") {
    val base = Files.createTempDirectory("pruned").toString
    for (part <- Seq(5, 6))
      spark.range(1).selectExpr("id", "100 as p").write.parquet(s"$base/p=$part")
    val right = ranges("id", 5L -> 5L)
    for (spelled <- Seq("l.p", "l.P")) {
      def df =
        join(
          spark.read.parquet(base),
          right,
          s"$spelled between cast(r.s as int) and cast(r.e as int)")
      assert(rowsRead(df) == 1, spelled)
      assert(rows(df).size == 1)
    }
  }

  test("where columns are found by an id, files are read whole: filters go by name") {
    val id = new MetadataBuilder().putLong("parquet.field.id", 7).build()
    withConf(SQLConf.PARQUET_FIELD_ID_READ_ENABLED.key -> "true") {
      for ((metadata, read) <- Seq(id -> 800, Metadata.empty -> 100)) withTable("events") {
        spark.range(0, 800, 1, 8)
          .select(expr("cast(id % 3 as int) as k"), col("id").as("p", metadata))
          .write.saveAsTable("events")
        assert(rowsRead(join(spark.table("events"), ranges("id", 110L -> 130L))) == read)
      }
    }
  }

  test("with a key, of all keys together") {
    withTable("events") {
      write("events", "id")
      val two = ranges("id", 110L -> 130L, 550L -> 610L)
      assert(rowsRead(join(spark.table("events"), two, s"l.k = r.k and $Between")) == 300)
    }
  }

  test("of a join that keeps streamed rows, all are read", Slow) {
    withTable("events") {
      write("events", "id")
      val few = ranges("id", 110L -> 130L)
      def read(kind: String) = rowsRead(join(spark.table("events"), few, kind = kind))
      assert(Seq("inner", "left_semi").map(read) == Seq(100, 100))
      // A full outer join reads the streamed side a second time, for its marks, as stock's does.
      assert(Seq("left_outer", "left_anti", "full_outer").map(read) == Seq(800, 800, 1600))
      // Existence.
      few.createOrReplaceTempView("few")
      def flagged = spark.table("events")
        .filter("p = 7 or exists (select /*+ BROADCAST(few) */ * from few where p between s and e)")
      assert(rowsRead(flagged) == 800)
    }
  }

  test("where the broadcast side is the preserved one, files are left out, and its rows come out") {
    withTable("events") {
      write("events", "id")
      val few = ranges("id", 110L -> 130L, 5000L -> 6000L)
      def df = few.hint("broadcast").as("r").join(
        spark.table("events").as("l"),
        expr(Between),
        "left_outer")
      // Twice, as above.
      assert(rowsRead(df) == 200)
      assert(rows(df).exists(_.contains("5000|6000|null")))
    }
  }

  test("partitions of a table that no range meets are not listed", Slow) {
    withTable("events") {
      write("events", "id", partitionBy = Seq("part"))
      val few = ranges("id", 3L -> 4L).selectExpr("k", "s", "e")
      def df = join(spark.table("events"), few, "l.part between r.s and r.e")
      assert(rowsRead(df) == 200)
      withConf(Adaptive: _*) {
        val once = df
        once.collect()
        assert(only(scans(once)).metrics("numPartitions").value == 2)
      }
      // Of a format without statistics, too.
      write("events", "id", "json", partitionBy = Seq("part"))
      assert(rowsRead(df) == 200)
    }
  }

  test("a band, one direction, and intervals on the streamed side") {
    withTable("events") {
      write("events", "id")
      val few = ranges("id", 350L -> 360L)
      def read(condition: String) = rowsRead(join(spark.table("events"), few, condition))
      ansi(on = true) {
        assert(read("r.s between l.p - 5 and l.p + 5") == 100)
        assert(read("r.s between l.p - 51 and l.p + 5") == 200)
      }
      // It might wrap around.
      ansi(on = false)(assert(read("r.s between l.p - 5 and l.p + 5") == 800))
      assert(read("l.p < r.s") == 400)
      assert(read("l.p >= r.e") == 500)
      assert(read("l.p <= r.e and l.id >= r.s") == 100)
      // One end is computed above the scan: the other end says something.
      def computed = join(
        spark.table("events").selectExpr("p", "p * 2 as q"),
        few,
        "l.p <= r.e and l.q >= r.s")
      assert(rowsRead(computed) == 400)
    }
  }

  test(
    "values are followed through projections, filters and broadcast joins, while rows have no place",
    Slow) {
    withTable("events") {
      write("events", "id")
      val few = ranges("id", 350L -> 360L)
      val events = spark.table("events")
      assert(rowsRead(join(
        events.filter("id % 2 = 0").select(col("p").as("x")),
        few,
        "l.x between r.s and r.e")) == 100)
      val names = spark.range(3).selectExpr("cast(id as int) as k", "concat('n', id) as name")
      assert(rowsRead(join(events.join(broadcast(names), Seq("k"), "left"), few), joins = 1) == 100)
      assert(rowsRead(
        join(join(events, few).select("l.*"), ranges("id", 340L -> 351L)),
        joins = 2) == 100)
      val numbered =
        events.select(col("*"), monotonically_increasing_id().as("place")).filter("place >= 0")
      assert(rowsRead(join(numbered, few).select("l.p")) == 800)
      assert(rowsRead(join(events.limit(500), few)) <= 800)
      assert(rowsRead(join(events.filter("p > rand(3)"), few)) == 800)
    }
  }

  test("what may be unknown excludes nothing") {
    withTable("events") {
      ansi(on = true) {
        write("events", "id")
        // The end overflows, and the condition is asked.
        val few = ranges("id", 350L -> 360L)
        def df = join(
          spark.table("events"),
          few,
          "l.p >= r.s and l.p <= try_add(r.e, 9223372036854775807)")
        assert(rowsRead(df) <= 800)
        val unknown = ranges("id", 350L -> 9223372036854775800L)
        def within = join(spark.table("events"), unknown, "l.p >= r.s and l.p - 10 <= r.e")
        assert(rowsRead(within) == 500)
      }
    }
  }

  test("only if it is wanted, and under adaptive execution") {
    withTable("events") {
      write("events", "id")
      val few = ranges("id", 350L -> 360L)
      def df = join(spark.table("events"), few)
      assert(rowsRead(df) == 100)
      assert(rowsRead(df, Seq(RangeJoinConf.RangePruning.key -> "false")) == 800)
      withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
        val once = df
        once.collect()
        assert(scans(once).map(_.metrics("numOutputRows").value).sum == 800)
      }
    }
  }

  test("EXPLAIN of a query that has run shows it at the scan") {
    withTable("events") {
      write("events", "id")
      withConf(Adaptive: _*) {
        val df = join(spark.table("events"), ranges("id", 110L -> 130L, 550L -> 610L))
        df.collect()
        val scan = only(scans(df))
        assert(
          scan.metadata("PushedFilters").contains(
            "Or(And(LessThanOrEqual(p,130),GreaterThanOrEqual(p,110)),"),
          scan.metadata)
      }
    }
  }
}
