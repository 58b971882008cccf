// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.execution.aggregate.SortAggregateExec
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.window.{WindowExec, WindowGroupLimitExec}
import org.apache.spark.sql.execution.{SortExec, SparkPlan}
import org.apache.spark.sql.expressions.Window
import org.apache.spark.sql.functions.{col, expr, monotonically_increasing_id, row_number}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.best.RankMatchesExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.{Column, DataFrame}

import org.scalatest.tagobjects.Slow

/**
 * One table, the spine, joined with others by a key and its own time: it is shuffled and sorted once, however many
 * joins and rankings there are, and what stands above by the same columns sorts nothing.
 */
class ChainsOfOneSpineSuite extends RangeJoinTest {
  import ChainsOfOneSpineSuite._

  private def views(): Unit = {
    def side(name: String, rows: Int) = spark.range(0, rows, 1, 2).selectExpr(
      s"id AS i$name",
      s"if(id % 17 = 3, NULL, pmod(hash(id, '$name'), 7)) AS k$name",
      s"if(id % 19 = 4, NULL, pmod(hash(id, '$name', 1), 60)) AS t$name"
    ).createOrReplaceTempView(name)
    side("s", 60)
    Histories.foreach(side(_, 40))
  }

  /** Checks the rows, and how many shuffles, sorts and windows there are once it has run. */
  private def check(
      exchanges: Int,
      sorts: Int,
      windows: Int = 0)(query: => DataFrame): Seq[SparkPlan] = {
    val expected = rowsOfStock(query)
    nextEngine.map { engine =>
      withConf(engine: _*) {
        val df = query
        assertSameRows(rows(df), expected, s"$engine\n${executedPlan(df)}")
        val plan = executedPlan(df)
        val found = Seq(
          collect(plan) { case e: ShuffleExchangeLike => e }.size,
          collect(plan) { case s @ (_: SortExec | _: RangeSortExec) => s }.size,
          collect(plan) { case w @ (_: WindowExec | _: WindowGroupLimitExec) => w }.size
        )
        assert(found == Seq(exchanges, sorts, windows), s"$engine\n$plan")
        plan
      }
    }
  }

  private def sql(text: String): DataFrame = spark.sql(text)

  private def chain(join: String)(condition: String => String): String =
    "FROM s" + Histories.map(h => s" $join $h ON ks = k$h AND ${condition(h)}").mkString

  for ((join, tag) <- Seq(
      "JOIN" -> Nil,
      "LEFT JOIN" -> Seq(Slow),
      "LEFT SEMI JOIN" -> Seq(Slow),
      "LEFT ANTI JOIN" -> Seq(Slow)))
    test(s"bands, by $join", tag: _*) {
      views()
      check(5, 5)(
        sql(s"SELECT * ${chain(join)(h => s"t$h BETWEEN ts - 3 AND ts")}"))
      check(
        5,
        5)(sql(s"SELECT * ${chain(join)(h => s"t$h BETWEEN ts AND ts + length(string(ks))")}"))
    }

  test("bands of one column of the spine that is computed") {
    views()
    check(5, 5)(sql(
      s"SELECT * ${chain("JOIN")(h => s"t$h * 2 BETWEEN ts * 2 - 6 AND ts * 2 + length('$h')")}"))
  }

  test("bands with filters, projections and other names between them") {
    views()
    check(5, 5)(sql(Histories.foldLeft("SELECT is AS i, ks AS k0, ts AS t0 FROM s") { (below, h) =>
      s"SELECT i + 1 AS i, k0 AS k, t0 AS t FROM ($below) JOIN $h ON k0 = k$h AND t$h BETWEEN t0 AND t0 + 5 " +
        s"WHERE i % 13 <> i$h % 2"
    }.replace("AS k,", "AS k0,").replace("AS t FROM", "AS t0 FROM")))
  }

  private def subqueries(of: String => String): String =
    Histories.map(h => s"(SELECT ${of(h)} FROM $h WHERE k$h = ks AND t$h <= ts) AS f$h").mkString(
      ", ")

  test("the latest of each history, by subqueries") {
    views()
    val plans = check(5, 5)(
      sql(s"SELECT s.*, ${subqueries(h => s"max_by(i$h, struct(t$h, i$h))")} FROM s"))
    for (plan <- plans) assert(collect(plan) { case r: RankMatchesExec => r }.size == 4)
  }

  test("aggregates of each history, by subqueries") {
    views()
    check(5, 5)(sql(s"SELECT s.*, ${subqueries(h => s"sum(i$h)")} FROM s"))
  }

  test("the latest of each history, by LATERAL joins", Slow) {
    assume(hasCorrelatedLimits)
    views()
    for (join <- Seq("LEFT JOIN", "CROSS JOIN"); range <- Seq("< ts", "BETWEEN ts - 40 AND ts")) {
      check(5, 5)(sql("SELECT * FROM s" + Histories.map(h =>
        s" $join LATERAL (SELECT * FROM $h WHERE k$h = ks AND t$h $range " +
          s"ORDER BY t$h DESC, i$h LIMIT 1)").mkString))
    }
  }

  /** As `rangejoin.join_asof` does it. */
  private def latest(spine: DataFrame, history: String, range: Column): DataFrame = {
    val (n, rank) = (s"n$history", s"r$history")
    val best = Window.partitionBy("ks", n).orderBy(col(s"t$history").desc, col(s"i$history"))
    spine.withColumn(n, monotonically_increasing_id())
      .join(spark.table(history), expr(s"ks = k$history") && range, "left")
      .withColumn(rank, row_number().over(best)).where(col(rank) <= 1).drop(n, rank)
  }

  test("the latest of each history, by a number and a window") {
    views()
    for (range <- Seq[String => String](h => s"t$h <= ts", h => s"t$h BETWEEN ts - 9 AND ts")) {
      val plans = check(5, 5)(Histories.foldLeft[DataFrame](spark.table("s"))((spine, h) =>
        latest(spine, h, expr(range(h)))))
      for (plan <- plans) assert(collect(plan) { case r: RankMatchesExec => r }.size == 4)
    }
  }

  test("rankings, bands and aggregates in one chain") {
    views()
    latest(spark.table("s"), "a", expr("ta <= ts")).createOrReplaceTempView("s_and_a")
    check(4, 4)(
      sql(s"""SELECT *, (SELECT count(*) FROM c WHERE kc = ks AND tc BETWEEN ts AND ts + 9) AS n
             |FROM s_and_a JOIN b ON kb = ks AND tb BETWEEN ts AND ts + 5""".stripMargin))
  }

  test("what stands above by the same columns sorts nothing") {
    views()
    val joined = "s JOIN a ON ks = ka AND ta BETWEEN ts AND ts + 3"
    check(2, 2, 1)(sql(s"SELECT *, count(*) OVER (PARTITION BY ks ORDER BY ts) AS n FROM $joined"))
    check(2, 2, 1)(sql(s"SELECT *, sum(ia) OVER (PARTITION BY ks, ts) AS n FROM $joined"))
    check(2, 2, 1)(sql(s"SELECT *, sum(ia) OVER (PARTITION BY ka ORDER BY ts) AS n FROM $joined"))
    check(2, 2)(sql(s"SELECT * FROM $joined").sortWithinPartitions("ka", "ts"))
    withConf(SQLConf.USE_OBJECT_HASH_AGG.key -> "false") {
      val plans = check(2, 2)(sql(
        s"SELECT ks, ts, max(cast(ia AS STRING)), min(is) FROM $joined WHERE ia > is GROUP BY ks, ts"))
      for (plan <- plans) assert(collect(plan) { case a: SortAggregateExec => a }.nonEmpty, plan)
    }
    withConf(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_CO_PARTITION.key -> "false") {
      check(3, 3)(sql(s"SELECT * FROM $joined JOIN b ON kb = ka AND tb = ts"))
    }
  }

  test("what stands above by other columns is sorted") {
    views()
    val joined = "s JOIN a ON ks = ka AND ta BETWEEN ts AND ts + 3"
    check(
      2,
      3,
      1)(sql(s"SELECT *, count(*) OVER (PARTITION BY ks ORDER BY ta, is) AS n FROM $joined"))
    check(
      2,
      3,
      1)(sql(s"SELECT *, count(*) OVER (PARTITION BY ks ORDER BY ts DESC) AS n FROM $joined"))
    val full = joined.replace("JOIN", "FULL JOIN")
    check(3, 3, 1)(sql(s"SELECT *, count(*) OVER (PARTITION BY ks ORDER BY ts) AS n FROM $full"))
    withConf(SQLConf.REMOVE_REDUNDANT_SORTS_ENABLED.key -> "false") {
      check(
        2,
        3,
        1)(sql(s"SELECT *, count(*) OVER (PARTITION BY ks ORDER BY ts) AS n FROM $joined"))
    }
  }
}

object ChainsOfOneSpineSuite {
  private val Histories = Seq("a", "b", "c", "d")
}
