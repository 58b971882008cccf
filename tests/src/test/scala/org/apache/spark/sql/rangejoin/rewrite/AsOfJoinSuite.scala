// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import java.lang.reflect.{InvocationTargetException, Method}

import scala.util.Random

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.plans.logical.AsOfJoin
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.rangejoin.best.BestMatchesTest.byBuckets
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.{Pairwise, RangeJoinTest}
import org.apache.spark.sql.{AnalysisException, Column, DataFrame}

import org.scalatest.tagobjects.Slow

/** As-of joins of Spark's: planned as range joins, with the rows of stock Spark. */
class AsOfJoinSuite extends RangeJoinTest {
  import AsOfJoinSuite._

  private def side(rows: Int, seed: Int, value: String, columns: String): DataFrame = {
    val random = new Random(seed)
    val values = Seq.tabulate(rows) { id =>
      val t = if (random.nextInt(20) == 0) "NULL" else random.nextInt(60).toString
      val k = if (random.nextInt(20) == 0) "NULL" else random.nextInt(3).toString
      s"($id, $k, ${value.replace("$", t)})"
    }
    spark.sql(s"SELECT * FROM VALUES ${values.mkString(", ")} AS v($columns)")
  }

  private def sides(value: String, seed: Int = 1): (DataFrame, DataFrame) =
    (side(40, seed, value, "id, k, t"), side(90, seed + 1, value, "rid, k, rt"))

  private def asOf(
      left: DataFrame,
      right: DataFrame,
      direction: String = "backward",
      joinType: String = "left",
      exact: Boolean = true,
      tolerance: Column = null,
      using: Seq[String] = Seq("k")): DataFrame =
    try
      joinAsOf(left).invoke(
        left,
        right,
        left("t"),
        right("rt"),
        using,
        joinType,
        tolerance,
        Boolean.box(exact),
        direction).asInstanceOf[DataFrame]
    catch { case e: InvocationTargetException => throw e.getCause }

  private def best(plan: SparkPlan): Seq[Boolean] = collect(plan) {
    case join: RangeJoinExec => join.best.isDefined
    case _: BaseJoinExec     => false
  }

  /** Whether the optimizer has a join and a ranking before it. */
  private def isRanked(df: DataFrame): Boolean =
    !execution(df).withCachedData.clone().exists(_.isInstanceOf[AsOfJoin])

  /** The left row and how far away its match is: of those as far away stock takes any. */
  private def check(ranked: Boolean = true, distance: String = "rt")(df: => DataFrame): Unit = {
    def shown = df.select(expr("id"), expr(distance)).toDF("id", "d")
    val expected = rowsOfStock(shown)
    for (engine <- nextEngine) withConf(engine: _*) {
      val plan = executedPlan(shown)
      assert(isRanked(shown) == ranked, plan)
      if (ranked) assert(best(plan).contains(true), plan)
      assertSameRows(rows(shown), expected, plan.toString)
    }
  }

  test("every direction, with and without exact matches and a tolerance", Slow) {
    val cases = for {
      of <- Directions
      exact <- Seq(true, false)
      join <- Seq("left" -> "", "left" -> "7", "inner" -> "0")
    } yield (of, exact, join)
    for (((direction, distance, isAnsi), exact, (joinType, within)) <- Pairwise.of(cases))
      ansi(isAnsi) {
        val (left, right) = sides("$")
        val tolerance = if (within.isEmpty) null else expr(within)
        check(distance = distance)(asOf(left, right, direction, joinType, exact, tolerance))
      }
  }

  test("dates and timestamps", Slow) {
    val byMicros = Some("abs(unix_micros(t) - unix_micros(rt))")
    // Values, the time zone, the tolerance of a nearest match, and how far away one is.
    val types = Seq(
      ("date_add(DATE '2024-01-01', $)", "Europe/Berlin", None, None),
      ("timestamp_seconds($ * 60)", "UTC", Some("INTERVAL '7' MINUTE"), byMicros),
      // The night that clocks go back in Berlin.
      (
        "timestamp_seconds(1729983600 + $ * 120)",
        "Europe/Berlin",
        Some("INTERVAL '7' MINUTE"),
        byMicros),
      ("TIMESTAMP_NTZ '2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, $)", "UTC", None, None),
      ("cast($ AS BIGINT)", "Europe/Berlin", Some("7L"), Some("abs(t - rt)")),
      ("cast($ AS DECIMAL(10, 2))", "UTC", None, None)
    )
    for (((value, zone, tolerance, distance), seed) <- types.zipWithIndex)
      withConf("spark.sql.session.timeZone" -> zone) {
        val (left, right) = sides(value, seed)
        check()(asOf(left, right, "backward", "left"))
        check()(asOf(left, right, "forward", "inner"))
        for (within <- tolerance; away <- distance)
          check(distance = away)(asOf(left, right, "nearest", "left", tolerance = expr(within)))
      }
  }

  test("rows of the join are not shuffled again") {
    val (left, right) = sides("$")
    withConf("spark.sql.adaptive.enabled" -> "false") {
      val plan = executedPlan(asOf(left.repartition(3), right.repartition(3)))
      val shuffles = plan.collect { case s: ShuffleExchangeLike => s }
      // Two that were asked for, and one of each side.
      assert(shuffles.size == 4, plan)
      assert(best(plan) == Seq(true), plan)
    }
  }

  test("duplicate left rows each have their match") {
    val (left, right) = sides("$")
    val twice = left.crossJoin(spark.range(2).toDF("n"))
    check()(asOf(twice, right))
    // Stock Spark cannot plan it over a union.
    def shown(df: DataFrame) = rows(df.selectExpr("id", "rt"))
    assertSameRows(shown(asOf(left.union(left), right)), shown(asOf(twice, right)), "union")
  }

  test("below other operators, in a subquery, and of one table with itself", Slow) {
    val (left, right) = sides("$")
    check()(asOf(left, right).where("id > 10 AND (rt IS NULL OR rt > 3)"))
    val first = asOf(left, right).toDF("id", "k", "t", "rid1", "k1", "rt1")
    check()(asOf(first, right))
    asOf(left, right).select("id", "t", "rt").createOrReplaceTempView("joined")
    check()(spark.sql("SELECT id, rt FROM joined WHERE rt >= (SELECT min(rt) + 5 FROM joined)"))
    val self = left.select("id", "k", "t")
    val other = self.toDF("rid", "k", "rt")
    check()(asOf(self, other, exact = false))
  }

  test("filters on left columns are below the join") {
    val (left, right) = sides("$")
    val df = asOf(left, right).where("id > 10").where("rt > 3 AND t < 50")
    val optimized = execution(df).optimizedPlan
    val below = optimized.collect {
      case join: org.apache.spark.sql.catalyst.plans.logical.Join => join.left.toString
    }
    assert(only(below).matches("(?s).*Filter.*id#\\d+ > 10.*"), optimized)
  }

  test("without a key") {
    val (left, right) = sides("$")
    val none = Seq.empty[String]
    check(ranked = false)(asOf(left, right, using = none))
    for ((direction, distance, isAnsi) <- Directions if direction == "nearest") ansi(isAnsi) {
      withConf(byBuckets(5).settings: _*)(
        check(distance = distance)(asOf(left, right, direction, using = none)))
    }
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "10MB")(
      check()(asOf(left, right, using = none)))
    check()(asOf(left, right, tolerance = expr("7"), using = none))
  }

  test("an inner join whose left side is small") {
    val (left, right) = sides("$")
    withConf("spark.sql.autoBroadcastJoinThreshold" -> "2KB") {
      for ((direction, distance, _) <- Directions)
        check(distance = distance)(asOf(left.where("id < 5"), right, direction, "inner"))
    }
  }

  test("ASOF JOIN in SQL") {
    assume(SPARK_VERSION >= "4.3")
    val types = Seq("$", "double($)", "timestamp_seconds($ * 60)", "date_add(DATE '2024-01-01', $)")
    for ((value, i) <- types.zipWithIndex) {
      val (left, right) = sides(value, i)
      left.createOrReplaceTempView("l")
      right.createOrReplaceTempView("r")
      for {
        operator <- Seq(">=", ">", "<=", "<")
        join <- Seq("ASOF JOIN", "LEFT ASOF JOIN")
        on <- Seq("ON l.k = r.k", "USING (k)", "ON l.k = r.k AND r.rid % 2 = 0")
        settings = Seq("asofJoin.enabled" -> "true", "sortMergeAsOfJoin.enabled" -> "false")
      } withConf(settings.map { case (key, on) => s"spark.sql.join.$key" -> on }: _*) {
        check()(spark.sql(
          s"SELECT l.id, r.rt FROM l $join r MATCH_CONDITION (l.t $operator r.rt) $on"))
      }
    }
  }

  test("settings, and what is left to Spark") {
    val (left, right) = sides("$")
    for (key <- Seq(RangeJoinConf.Correlated, RangeJoinConf.BestMatches, RangeJoinConf.Enabled))
      withConf(key.key -> "false")(check(ranked = false)(asOf(left, right)))
    // A decimal number of more digits than a long.
    val (l, r) = sides("cast($ AS DECIMAL(30, 2))")
    check(ranked = false)(asOf(l, r))
  }

  test("a tolerance that is negative is refused as in stock Spark") {
    val (left, right) = sides("$")
    val errors = Seq("true", "false").map { on =>
      withConf(Flag -> on)(
        intercept[AnalysisException](asOf(
          left,
          right,
          tolerance = expr("-1")).collect()).getMessage)
    }
    assert(errors.distinct.size == 1)
  }

  test("the node is gone before the optimizer, and the columns are the same") {
    val (left, right) = sides("$")
    val df = asOf(left, right)
    val optimized = execution(df).withCachedData.clone()
    assert(optimized.collect { case join: AsOfJoin => join }.isEmpty)
    assert(optimized.output == execution(df).analyzed.output)
    assert(df.columns.toSeq == Seq("id", "k", "t", "rid", "k", "rt"))
  }
}

object AsOfJoinSuite {

  /** Directions, what tells matches apart, and whether arithmetic raises. */
  private val Directions = Seq(
    ("backward", "rt", true),
    ("forward", "rt", false),
    ("nearest", "abs(t - rt)", true))

  /** Of a class that has moved from one line of Spark to the next. */
  private[rewrite] def joinAsOf(df: DataFrame): Method = df.getClass.getMethods
    .find(m => m.getName == "joinAsOf" && m.getParameterTypes()(3) == classOf[Seq[_]])
    .get
}
