// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.nio.file.Files

import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * Band joins of two tables where Spark builds a hash table of the right one, or sorts both: stock's and
 * ours alternated in one session, in seconds, and beside them the shuffle of both sides alone. Where a key has one row,
 * stock's joins by the key alone do all that a join has to do but for the range. Medians of five after two, of Parquet
 * files; and what building takes, of one run of either hashed form.
 *
 * Arguments are regular expressions, one of which has to be found in the name of a case ("a row a key, 1,000,000 rows,
 * string"). `--cpu` counts what tasks take of a processor, and not the clock. `--once` runs each contestant once, and
 * stock's, too, where it takes minutes; `--interpreted` switches generated code off.
 */
object ShuffledJoins {

  /**
   * A join of `rows` rows with `rows`, of `keys` keys, in which a row finds 20 where a key has a hundred or
   * more, and a fifth of its key's elsewhere.
   */
  private case class Case(rows: Int, keys: Int, keyType: String) {
    def name: String =
      (if (keys == rows) "a row a key" else f"$keys%,d keys") + f", $rows%,d rows, $keyType"

    /** SQL of the key, of `id`. */
    def key(seed: Int): String = {
      val number = if (keys == rows) "id" else s"pmod(xxhash64(id, $seed), $keys)"
      keyType match {
        case "int"    => s"CAST($number AS INT)"
        case "bigint" => s"xxhash64($number)"
        case "string" => s"concat('sensor-', $number)"
      }
    }

    /** How far off a match is at most, of a billion. */
    def reach: Long = math.min(100000000L, 10000000000L * keys / rows)

    /** Whether stock's joins take seconds, and not minutes. */
    def isQuickInStock: Boolean = rows.toLong * rows / keys <= 500000000L
  }

  private val cases =
    for {
      rows <- Seq(200000, 1000000, 4000000)
      keys <- Seq(10, 100, 1000, 10000, 100000, rows)
      keyType <- Seq("int", "bigint", "string")
    } yield Case(rows, keys, keyType)
  private val Once = "--once"
  private val Interpreted = "--interpreted"
  private val Warm = 2
  private val Measured = 5

  private val Merge = "/*+ MERGE(r) */"
  private val Hash = "/*+ SHUFFLE_HASH(r) */"

  def main(args: Array[String]): Unit = {
    val directory = Files.createTempDirectory("shuffled")
    val spark = SparkSession.builder().master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.log.level", "ERROR")
      .config("spark.sql.extensions", classOf[RangeJoinExtensions].getName)
      .config("spark.sql.shuffle.partitions", "4")
      .config("spark.sql.adaptive.enabled", "false")
      .config("spark.sql.autoBroadcastJoinThreshold", "-1")
      .config("spark.sql.codegen.wholeStage", !args.contains(Interpreted))
      .config(
        "spark.sql.codegen.factoryMode",
        if (args.contains(Interpreted)) "NO_CODEGEN" else "FALLBACK")
      .getOrCreate()
    println(
      "| case | stock, sorted | stock, hashed | range join, sorted | range join, indexed | shuffle " +
        "| by key, sorted | by key, hashed | indexed / best stock | indexed / sorted | build, stock | build, indexed |\n" +
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    val clock = Clock(spark, args)
    val patterns = args.filterNot(_.startsWith("--")).map(_.r)
    val once = args.contains(Once)
    try cases.filter(c => patterns.isEmpty || patterns.exists(_.findFirstIn(c.name).nonEmpty))
        .foreach(run(spark, _, directory.toString, clock, once))
    finally spark.stop()
  }

  private def run(
      spark: SparkSession,
      shape: Case,
      directory: String,
      clock: Clock,
      once: Boolean): Unit = {
    for ((table, seed) <- Seq("l" -> 1, "r" -> 2)) {
      val path = s"$directory/$table-${shape.name.replaceAll("\\W", "")}"
      spark.range(0, shape.rows, 1, 2)
        .selectExpr(
          s"${shape.key(seed)} AS k",
          s"pmod(xxhash64(id, ${seed + 7}), 1000000000) AS y",
          "id AS v")
        .write.parquet(path)
      spark.read.parquet(path).createOrReplaceTempView(table)
    }
    val runsStock = shape.isQuickInStock || once
    val hasOneRow = shape.keys == shape.rows
    def joinOn(hint: String, condition: String) =
      s"SELECT $hint l.v AS a, r.v AS b FROM l JOIN r ON l.k = r.k AND $condition"
    def join(hint: String) =
      joinOn(hint, s"r.y BETWEEN l.y - ${shape.reach} AND l.y + ${shape.reach}")
    // True of all, and needs the same columns.
    def byKey(hint: String) = joinOn(hint, "l.y + r.y >= 0")
    def seconds(rangeJoin: Boolean, sql: String*): Double = {
      spark.conf.set(RangeJoinConf.Enabled.key, rangeJoin)
      System.gc()
      clock.seconds(sql.foreach(spark.sql(_).write.format("noop").mode("overwrite").save()))
    }
    val contestants = Seq[(Boolean, () => Double)](
      (runsStock) -> (() => seconds(rangeJoin = false, join(Merge))),
      (runsStock) -> (() => seconds(rangeJoin = false, join(Hash))),
      true -> (() => seconds(rangeJoin = true, join(Merge))),
      true -> (() => seconds(rangeJoin = true, join(Hash))),
      true -> (() =>
        seconds(
          rangeJoin = true,
          "SELECT * FROM l DISTRIBUTE BY k",
          "SELECT * FROM r DISTRIBUTE BY k")),
      hasOneRow -> (() => seconds(rangeJoin = false, byKey(Merge))),
      hasOneRow -> (() => seconds(rangeJoin = false, byKey(Hash)))
    )
    val (warm, measured) = if (once) (0, 1) else (Warm, Measured)
    val rounds = Seq.fill(warm + measured)(contestants.map { case (runs, measure) =>
      if (runs) measure() else Double.NaN
    })
    val medians =
      contestants.indices.map(i => rounds.drop(warm).map(_(i)).sorted.apply(measured / 2))
    val stock = medians.take(2).min
    println((medians.map(s => f"$s%.2f") ++
      Seq(f"${medians(3) / stock}%.2f", f"${medians(3) / medians(2)}%.2f") ++
      Seq(runsStock -> false, true -> true).map { case (runs, rangeJoin) =>
        if (runs) built(spark, rangeJoin, join(Hash)) else "-"
      })
      .mkString(s"| ${shape.name} | ", " | ", " |"))
  }

  /** What the tasks of a join take to build their tables: milliseconds, all together, and MiB. */
  private def built(spark: SparkSession, rangeJoin: Boolean, join: String): String = {
    spark.conf.set(RangeJoinConf.Enabled.key, rangeJoin)
    val query = spark.sql(join).queryExecution
    query.toRdd.foreach(_ => ())
    query.executedPlan.collectFirst {
      case node if node.metrics.contains("buildTime") =>
        val time = node.metrics("buildTime").value
        val size = node.metrics("buildDataSize").value
        f"$time%,d ms, ${size / 1048576.0}%.1f MiB"
    }.get
  }
}
