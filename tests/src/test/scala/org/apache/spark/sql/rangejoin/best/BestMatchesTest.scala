// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

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
    val expected = withConf(RangeJoinTest.Oracle: _*)(rows(spark.sql(query)))
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

  /** Sort-merge, shuffled and broadcast joins. */
  val Forms: Seq[Form] = Seq(Form("MERGE(r)"), Form("SHUFFLE_HASH(r)"), Form("BROADCAST(r)"))
}
