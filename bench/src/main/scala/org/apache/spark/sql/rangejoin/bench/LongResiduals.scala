// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.debug.codegenStringSeq
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinExtensions
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.shims.ClassicSession.{Dataset, SparkSession}

/**
 * Joins whose residual is long, beside stock Spark: a key, a band, and a residual of a number of terms
 * joined by OR, none of which holds for most pairs. For both operators, prints the bytecode of the
 * largest generated method and the CPU time of the tasks: stock and ours in turns, medians.
 *
 * Nothing is to be won by the range: it takes in most rows of a key, so that both evaluate the residual
 * as often, and what differs is the code. HotSpot compiles no method of more than 8,000 bytes.
 *
 * {{{
 *   sbt "bench/runMain org.apache.spark.sql.rangejoin.bench.LongResiduals [OPERATOR] [RUNS] [TERMS ...]"
 * }}}
 */
object LongResiduals {

  private val Operators = Seq("broadcast" -> "10MB", "sort-merge" -> "-1")

  def main(args: Array[String]): Unit = {
    val (named, numbers) = args.toSeq.partition(name => Operators.exists(_._1 == name))
    val runs = numbers.headOption.fold(5)(_.toInt)
    val terms = if (numbers.length > 1) numbers.tail.map(_.toInt) else Seq(0, 20, 40, 60, 120, 180)
    val spark = session()
    val clock = new Clock.OfTasks(spark)
    try {
      println("| operator | terms | rows out | stock, bytes | ours, bytes | | stock, CPU s | ours, CPU s | |")
      println("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
      for ((operator, threshold) <- Operators if named.isEmpty || named.contains(operator)) {
        spark.conf.set(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key, threshold)
        terms.foreach(n => println(row(spark, operator, n, runs, clock)))
      }
    } finally spark.stop()
  }

  private def session(): SparkSession = {
    val spark = LocalSession.create(
      "spark.sql.extensions" -> classOf[RangeJoinExtensions].getName,
      "spark.sql.shuffle.partitions" -> "1",
      SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false"
    )
    for ((name, rows) <- Seq("l" -> 200000, "r" -> 10000)) {
      spark.range(0, rows, 1, 1)
        .selectExpr(
          "id",
          "id % 1000 AS k",
          "pmod(hash(id), 100) AS t",
          "pmod(hash(id, 1), 1000) AS v")
        .createOrReplaceTempView(name)
    }
    spark
  }

  private def join(spark: SparkSession, terms: Int, ours: Boolean): DataFrame = {
    spark.conf.set(RangeJoinConf.Enabled.key, ours.toString)
    val residual = (1 to terms).map(i => s"(l.v * $i + r.v) % 10007 = $i")
    spark.sql(
      s"""SELECT l.id, r.id FROM l JOIN r
         |ON l.k = r.k AND r.t BETWEEN l.t - 80 AND l.t + 80
         |${if (terms == 0) "" else residual.mkString("AND (", " OR ", ")")}""".stripMargin)
  }

  private def row(
      spark: SparkSession,
      operator: String,
      terms: Int,
      runs: Int,
      clock: Clock): String = {
    val contestants = Seq(false, true)
    val bytes = contestants.map(ours => largestMethod(join(spark, terms, ours)))
    // The first two runs of each warm up.
    val measured =
      (0 until runs + 2).map(_ => contestants.map(c => run(join(spark, terms, c), clock)))
    require(measured.flatten.map(_._1).distinct.size == 1, "contestants differ in their rows")
    val seconds = contestants.indices.map(c => median(measured.drop(2).map(_(c)._2)))
    def compared(values: Seq[Double], format: String) =
      (values.map(v => format.format(v)) :+ f"${values(1) / values.head}%.2f").mkString(" | ")
    s"| $operator | $terms | ${measured.head.head._1} | ${compared(bytes.map(_.toDouble), "%,.0f")} " +
      s"| ${compared(seconds, "%.3f")} |"
  }

  private def largestMethod(df: DataFrame): Int =
    codegenStringSeq(df.asInstanceOf[Dataset[_]].queryExecution.executedPlan)
      .map(_._3.maxMethodCodeSize).max

  /** The number of rows, and the seconds of CPU that tasks take to make them. */
  private def run(df: DataFrame, clock: Clock): (Long, Double) = {
    var rows = 0L
    val seconds =
      clock.seconds { rows = df.asInstanceOf[Dataset[_]].queryExecution.toRdd.count() }
    (rows, seconds)
  }

  private def median(values: Seq[Double]): Double = values.sorted.apply(values.size / 2)
}
