// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

import org.openjdk.jmh.annotations._

/**
 * A whole join in one local session: 100 keys with 64 rows each on either side, a band of 3 rows in
 * either direction, and an expensive function in the residual. The four cells of the pull request
 * for SPARK-24020: code generation on and off, the flag on and off.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MILLISECONDS)
class JoinBenchmark {

  @Param(Array("true", "false"))
  var codegen: String = _

  @Param(Array("true", "false"))
  var range: String = _

  private var spark: SparkSession = _

  @Setup
  def setup(): Unit = {
    spark = LocalSession.create(
      "spark.sql.extensions" -> classOf[RangeJoinExtensions].getName,
      "spark.sql.shuffle.partitions" -> "1",
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1",
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false",
      SQLConf.WHOLESTAGE_CODEGEN_ENABLED.key -> codegen,
      RangeJoinConf.Enabled.key -> range
    )
    // A hundred square roots.
    spark.udf.register(
      "expensive",
      (a: Int, b: Int) => {
        var value = a + b * 1e-3
        var i = 0
        while (i < 100) {
          value = math.sqrt(value * value + i)
          i += 1
        }
        value > 0
      })
    for (name <- Seq("l", "r")) {
      spark.range(0, 6400, 1, 1)
        .selectExpr("cast(id div 64 AS INT) AS k", "cast(id % 64 AS INT) AS y", "id")
        .createOrReplaceTempView(name)
    }
  }

  @TearDown
  def tearDown(): Unit = spark.stop()

  @Benchmark
  def join(): Long = {
    val df = spark.sql(
      """SELECT l.id, r.id FROM l JOIN r
        |ON l.k = r.k AND r.y BETWEEN l.y - 3 AND l.y + 3 AND expensive(l.y, r.y)""".stripMargin)
    df.queryExecution.toRdd.count()
  }
}
