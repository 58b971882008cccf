// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/** What suites of rankings above a range join share. */
trait BestMatchesTest extends RangeJoinTest {
  import BestMatchesTest._

  /**
   * A side with a few keys `k`, a time `t` with many ties, an end `u` that is no less, and a value `v`. Keys and times
   * are NULL at times; all times of key 3 are.
   *
   * @param value a time, of a number
   */
  protected def side(name: String, rows: Int, seed: Int, keys: Int = 3, partitions: Int = 1)(
      value: String => String): Unit = {
    val random = new Random(seed)
    def orNull(one: Int, in: Int) = if (random.nextInt(in) == 0) "NULL" else one.toString
    val values = Seq.tabulate(rows) { id =>
      val k = orNull(random.nextInt(keys), 30)
      val n = if (k == "3") "NULL" else orNull(random.nextInt(150), 20)
      s"($id, $k, $n, ${random.nextInt(12)}, ${random.nextInt(5)})"
    }
    def of(n: String) = s"IF(n IS NULL, NULL, ${value(n)})"
    val hint = if (partitions > 1) s"/*+ REPARTITION($partitions) */" else ""
    spark.sql(s"""SELECT $hint id, k, ${of("n")} AS t, ${of("(n + d)")} AS u, v
      FROM VALUES ${values.mkString(", ")} AS v(id, k, n, d, v)""").createOrReplaceTempView(name)
  }

  protected def bothSides(
      left: Int,
      right: Int,
      seed: Int,
      keys: Int = 3)(value: String => String): Unit = {
    side("l", left, seed, keys)(value)
    side("r", right, seed + 1, keys)(value)
  }

  protected def joinOf(df: DataFrame): SparkPlan =
    only(collect(executedPlan(df)) { case join: BaseJoinExec => join })

  private def bestOf(df: DataFrame): Option[BestMatches] = joinOf(df) match {
    case join: RangeJoinExec => join.best
    case other               => fail(s"no range join: $other")
  }

  /** The kinds of arithmetic errors that an error was raised by. */
  protected def arithmeticErrors(error: Throwable): Set[String] =
    causes(error).collect { case e: ArithmeticException => e.getClass.getName }.toSet

  private var checks = 0

  /** One form, another one for the next query. */
  protected def nextForm: Seq[Form] =
    if (RangeJoinTest.EveryEngine) Forms
    else {
      checks += 1
      Seq(Forms(checks % Forms.size))
    }

  /** Compares with stock Spark, in each form, and looks for what is wanted of the join. */
  protected def check(
      query: String,
      best: Boolean = true,
      forms: Seq[Form] = nextForm
  ): Unit = {
    compare(query, forms, nextEngine)(df => bestOf(df).isDefined == best)
  }

  /**
   * Compares with stock Spark, in each form.
   *
   * @param holds what has to hold of the plan, before and after the query has run
   * @return the rows
   */
  protected def compare(query: String, forms: Seq[Form], engines: => Seq[Settings])(
      holds: DataFrame => Boolean): Seq[String] = {
    val expected = rowsOfStock(spark.sql(query))
    for (form <- forms; engine <- engines) withConf(form.settings ++ engine: _*) {
      val df = spark.sql(form.of(query))
      def clue = s"$query\nas $form under $engine\n${executedPlan(df)}"
      assert(holds(df), clue)
      assertSameRows(rows(df), expected, clue)
      assert(holds(df), clue)
    }
    expected
  }

  /**
   * Compares with stock Spark, in each form, and checks that a metric of the join is no greater.
   *
   * @return what it was, before and after each run
   */
  protected def compareMetric(
      metric: String,
      limit: Long,
      query: String,
      forms: Seq[Form]): Seq[Long] = {
    var found = Seq.empty[Long]
    compare(query, forms, bothEngines) { df =>
      found ++= only(JoinReports.of(executedPlan(df))).metrics.get(metric)
      found.forall(_ <= limit)
    }
    assert(found.nonEmpty, query)
    found
  }
}

object BestMatchesTest {

  /** How a join is planned: by a hint, which queries have a place for, and settings. */
  case class Form(hint: String, settings: Settings = Nil) {
    def of(query: String): String =
      if (hint.isEmpty) query else query.replace("SELECT l.", s"SELECT /*+ $hint */ l.")
  }

  /** By range buckets, where there is no key. */
  def byBuckets(buckets: Int): Form = Form(
    "",
    Seq(
      "spark.sql.join.rangePartitioning.buckets" -> buckets.toString,
      "spark.sql.join.rangePartitioning.threshold" -> "0",
      "spark.sql.join.rangePartitioning.deferShuffle.enabled" -> "false"
    )
  )

  /** A value of a type that rises with a number. */
  def valueOf(dataType: String)(n: String): String = dataType match {
    case "DATE"          => s"date_add(DATE '2024-01-01', $n)"
    case "TIMESTAMP"     => s"timestamp_seconds($n * 60)"
    case "TIMESTAMP_NTZ" => s"TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, $n)"
    // The night that clocks go back in Berlin.
    case "NIGHT" => s"timestamp_seconds(1729983600 + $n * 120)"
    // Zeros of either sign, and NaN.
    case "DOUBLE" | "FLOAT" =>
      s"CAST(CASE $n WHEN 3 THEN double('NaN') WHEN 4 THEN -0D WHEN 5 THEN 0D ELSE $n / 4D END AS $dataType)"
    case "STRING"         => s"concat(IF($n > 130, '2024-02-', '2024-01-'), lpad($n, 4, '0'))"
    case "BINARY"         => s"CAST(concat('same prefix ', lpad($n, 4, '0')) AS BINARY)"
    case "DECIMAL(38, 4)" =>
      s"CAST('1234567890123456789012' AS DECIMAL(38, 4)) + CAST($n / 7 AS DECIMAL(10, 4))"
    case "STRUCT" => s"named_struct('a', 1, 'b', $n)"
    case other    => s"CAST($n AS $other)"
  }

  /** The first pairs of each row of `l`, by the order of a ranking function. */
  def rankedPairs(
      shown: String,
      function: String,
      by: String,
      joinType: String,
      condition: String,
      limit: Int): String =
    s"""SELECT * FROM (
       |  SELECT $shown, $function OVER (PARTITION BY l.id ORDER BY $by) AS n
       |  FROM l $joinType JOIN r ON $condition)
       |WHERE n <= $limit""".stripMargin

  /** A sort-merge join most rows of whose window are on disk. */
  val OnDisk: Form = Form("MERGE(r)", RangeJoinTest.spillingFrom(50))

  /** A window that spills, and an index without room. */
  val Cramped: Settings = Seq(
    "spark.sql.sortMergeJoinExec.buffer.in.memory.threshold" -> "1",
    "spark.sql.sortMergeJoinExec.buffer.spill.threshold" -> "7",
    "spark.sql.join.shuffledRange.indexLimit" -> "0"
  )

  /** Sort-merge, shuffled and broadcast joins. */
  val Forms: Seq[Form] = Seq(Form("MERGE(r)"), Form("SHUFFLE_HASH(r)"), Form("BROADCAST(r)"))
}
