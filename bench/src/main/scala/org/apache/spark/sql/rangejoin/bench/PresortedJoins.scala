// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.nio.file.Files

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * Band joins of two tables of a million rows that are bucketed and sorted by their key, which a stock
 * join streams: stock's and the range join alternated in one session, in seconds, and their ratio.
 * Medians of nine after four. An argument is the part of the names of the cases to run; `--cpu` counts
 * what tasks take of a processor, and not the clock.
 */
object PresortedJoins {

  /** @param payload bytes of a column that is only carried along */
  private case class Case(name: String, rowsOfKey: Int, payload: Int = 0, limit: Boolean = false)

  private val cases = Seq(
    Case("5 rows a key", 5),
    Case("a row a key", 1),
    Case("100 rows a key", 100),
    Case("5 rows a key, 60 bytes of payload", 5, payload = 60),
    Case("a row a key, 400 bytes of payload", 1, payload = 400),
    Case("5 rows a key, LIMIT 20", 5, limit = true)
  )
  private val Rows = 1000000
  private val Warm = 4
  private val Measured = 9

  def main(args: Array[String]): Unit = {
    val warehouse = Files.createTempDirectory("presorted")
    val spark = SparkSession.builder().master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.log.level", "ERROR")
      .config("spark.sql.extensions", classOf[RangeJoinExtensions].getName)
      .config("spark.sql.warehouse.dir", warehouse.toString)
      .config("spark.sql.autoBroadcastJoinThreshold", "-1")
      .config("spark.sql.legacy.bucketedTableScan.outputOrdering", "true")
      .getOrCreate()
    val clock = Clock(spark, args)
    println("| case | stock | range join | ratio |\n|---|---:|---:|---:|")
    try {
      val parts = args.filterNot(_ == Clock.Cpu)
      cases.filter(c => parts.forall(c.name.contains)).foreach(run(spark, _, clock))
    } finally spark.stop()
  }

  private def run(spark: SparkSession, shape: Case, clock: Clock): Unit = {
    for ((table, seed) <- Seq("l" -> 1, "r" -> 2)) {
      spark.sql(s"DROP TABLE IF EXISTS $table")
      spark.range(0, Rows, 1, 2).selectExpr(
        s"pmod(xxhash64(id, $seed), ${Rows / shape.rowsOfKey}) AS k",
        s"pmod(xxhash64(id, ${seed + 7}), 1000000000) AS y",
        s"repeat('p', ${shape.payload}) AS p"
      ).repartition(2, col("k")).write.bucketBy(2, "k").sortBy("k").saveAsTable(table)
    }
    val joined = "SELECT l.p AS lp, r.p AS rp, l.y AS ly, r.y AS ry FROM l JOIN r ON l.k = r.k " +
      "AND r.y BETWEEN l.y - 1000000 AND l.y + 1000000" + (if (shape.limit) " LIMIT 20" else "")
    def seconds(rangeJoin: Boolean): Double = {
      spark.conf.set(RangeJoinConf.Enabled.key, rangeJoin)
      clock.seconds(spark.sql(joined).write.format("noop").mode("overwrite").save())
    }
    val times = Seq.fill(Warm + Measured)((seconds(rangeJoin = false), seconds(rangeJoin = true)))
    def median(times: Seq[Double]) = times.drop(Warm).sorted.apply(Measured / 2)
    val (stock, ours) = (median(times.map(_._1)), median(times.map(_._2)))
    println(f"| ${shape.name} | $stock%.2f | $ours%.2f | ${ours / stock}%.2f |")
  }
}
