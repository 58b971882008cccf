// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import org.apache.spark.benchmark.{Benchmark, BenchmarkBase}
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * Joins on an equal key and a range, beside stock Spark's, as Spark's own benchmarks measure and print:
 * one task, one shuffle partition, no broadcast, and rows that are counted away by a `noop` write.
 * With `SPARK_GENERATE_BENCHMARK_FILES=1` the result goes to a file in `benchmarks/`.
 */
object RangeJoinBenchmark extends BenchmarkBase {

  private val Rows = 1 << 19

  private lazy val spark = LocalSession.create(
    "spark.sql.extensions" -> classOf[RangeJoinExtensions].getName,
    "spark.sql.shuffle.partitions" -> "1",
    "spark.sql.autoBroadcastJoinThreshold" -> "1"
  )

  override def runBenchmarkSuite(mainArgs: Array[String]): Unit = {
    runBenchmark("Rows of a key, about 10 of them in range") {
      Seq(1, 10, 100, 1000).foreach(rowsOfKey => beside(s"$rowsOfKey rows a key", rowsOfKey))
    }
    runBenchmark("Join types, 1000 rows a key") {
      Seq("LEFT OUTER", "FULL OUTER", "LEFT SEMI", "LEFT ANTI").foreach(joinType =>
        beside(joinType, 1000, joinType))
    }
    runBenchmark("Without whole-stage code generation, 1000 rows a key") {
      beside("INNER, interpreted", 1000, settings = Map("spark.sql.codegen.wholeStage" -> "false"))
    }
  }

  /** One table of Spark's form: the stock join and the range join. */
  private def beside(
      name: String,
      rowsOfKey: Int,
      joinType: String = "INNER",
      settings: Map[String, String] = Map.empty
  ): Unit = {
    // Times are spread over a thousand for each row of a key.
    val (keys, span) = (Rows / rowsOfKey, rowsOfKey * 1000L)
    for ((view, seed) <- Seq("l" -> 1, "r" -> 2)) {
      spark.range(Rows).selectExpr(
        s"id % $keys AS k",
        s"pmod(xxhash64(id, $seed), $span) AS t",
        s"id AS $view"
      ).createOrReplaceTempView(view)
    }
    val half = 5000
    val columns = if (joinType.contains("SEMI") || joinType.contains("ANTI")) "l.l" else "l.l, r.r"
    val join = s"SELECT $columns FROM l $joinType JOIN r " +
      s"ON l.k = r.k AND r.t BETWEEN l.t - $half AND l.t + $half"
    val benchmark = new Benchmark(name, Rows, minNumIters = 3, output = output)
    for (rangeJoin <- Seq(false, true)) {
      benchmark.addCase(if (rangeJoin) "range join" else "stock sort-merge join") { _ =>
        val all = settings + (RangeJoinConf.Enabled.key -> rangeJoin.toString)
        all.foreach { case (key, value) => spark.conf.set(key, value) }
        try spark.sql(join).write.format("noop").mode("overwrite").save()
        finally all.keys.foreach(spark.conf.unset)
      }
    }
    benchmark.run()
  }

  override def afterAll(): Unit = spark.stop()
}
