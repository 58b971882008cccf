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

package org.apache.spark.sql.rangejoin.bench

import java.nio.file.Files

import org.apache.spark.sql.rangejoin.line.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.{RangeJoinConf, RangeJoinExtensions}

/**
 * Band joins of two tables where Spark builds a hash table of the right one, or sorts both: stock's and
 * ours alternated in one session, in seconds, and beside them the shuffle of both sides alone. Medians of
 * five after two, of Parquet files. Arguments are parts of the names of the cases to run; `--cpu` counts
 * what tasks take of a processor, and not the clock. `--once` runs each contestant once, and stock's, too,
 * where it takes minutes; `--interpreted` switches generated code off.
 */
object ShuffledJoins {

  /**
   * @param key SQL of the key, of a random number `n` below `keys` and of `id`
   * @param reach how far off a match is at most
   * @param stock whether stock's joins take seconds, and not minutes
   */
  private case class Case(
      name: String,
      rows: Int,
      keys: Int,
      key: String,
      reach: Int,
      stock: Boolean)

  private val cases = Seq(
    Case("100 keys, 200,000 rows", 200000, 100, "n", 500000, stock = true),
    Case("100 keys", 1000000, 100, "n", 1000000, stock = false),
    Case("10,000 keys", 1000000, 10000, "n", 10000000, stock = true),
    Case("100,000 keys", 1000000, 100000, "n", 100000000, stock = true),
    Case("a row a key, int", 1000000, 1000000, "CAST(id AS INT)", 100000000, stock = true),
    Case("a row a key, bigint", 1000000, 1000000, "xxhash64(id)", 100000000, stock = true),
    Case("a row a key, string", 1000000, 1000000, "concat('sensor-', id)", 100000000, stock = true)
  )
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
        "| indexed / best stock | indexed / sorted |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    val clock = Clock(spark, args)
    val parts = args.filterNot(_.startsWith("--"))
    val once = args.contains(Once)
    try cases.filter(c => parts.isEmpty || parts.exists(c.name.contains))
        .foreach(run(spark, _, directory.toString, clock, once))
    finally spark.stop()
  }

  private def run(
      spark: SparkSession,
      of: Case,
      directory: String,
      clock: Clock,
      once: Boolean): Unit = {
    for ((table, seed) <- Seq("l" -> 1, "r" -> 2)) {
      val path = s"$directory/$table-${of.name.replaceAll("\\W", "")}"
      spark.range(0, of.rows, 1, 2)
        .selectExpr("id", s"pmod(xxhash64(id, $seed), ${of.keys}) AS n")
        .selectExpr(
          s"${of.key} AS k",
          s"pmod(xxhash64(id, ${seed + 7}), 1000000000) AS y",
          "id AS v")
        .write.parquet(path)
      spark.read.parquet(path).createOrReplaceTempView(table)
    }
    def join(hint: String) = s"SELECT $hint l.v AS a, r.v AS b FROM l JOIN r ON l.k = r.k " +
      s"AND r.y BETWEEN l.y - ${of.reach} AND l.y + ${of.reach}"
    def seconds(rangeJoin: Boolean, sql: String*): Double = {
      spark.conf.set(RangeJoinConf.Enabled.key, rangeJoin)
      System.gc()
      clock.seconds(sql.foreach(spark.sql(_).write.format("noop").mode("overwrite").save()))
    }
    val contestants = Seq[(Boolean, () => Double)](
      (of.stock || once) -> (() => seconds(rangeJoin = false, join(Merge))),
      (of.stock || once) -> (() => seconds(rangeJoin = false, join(Hash))),
      true -> (() => seconds(rangeJoin = true, join(Merge))),
      true -> (() => seconds(rangeJoin = true, join(Hash))),
      true -> (() =>
        seconds(
          rangeJoin = true,
          "SELECT * FROM l DISTRIBUTE BY k",
          "SELECT * FROM r DISTRIBUTE BY k"))
    )
    val (warm, measured) = if (once) (0, 1) else (Warm, Measured)
    val rounds = Seq.fill(warm + measured)(contestants.map { case (runs, measure) =>
      if (runs) measure() else Double.NaN
    })
    val medians =
      contestants.indices.map(i => rounds.drop(warm).map(_(i)).sorted.apply(measured / 2))
    val stock = medians.take(2).min
    println((medians.map(s => f"$s%.2f") ++
      Seq(f"${medians(3) / stock}%.2f", f"${medians(3) / medians(2)}%.2f"))
      .mkString(s"| ${of.name} | ", " | ", " |"))
  }
}
