// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.best.TiedTables
import org.apache.spark.sql.rangejoin.conf.InternalConf

/** Functions of windows of each row's matches, under each hint in the place of `HINT`, beside stock Spark. */
trait WindowQueries extends TiedTables {

  protected val Hints = Seq("MERGE(r)", "SHUFFLE_HASH(r)", "BROADCAST(r)")

  /** Keys and times with ties on both sides, some NULL, and more than one block of rows a key. */
  protected def sides(left: Int = 120, right: Int = 400): Unit = {
    tiedTables(left, right)(
      "CASE WHEN id % 11 = 4 THEN NULL ELSE pmod(hash(id), 100) END AS x",
      "CAST(pmod(hash(id, 2), 1000) AS DECIMAL(9, 2)) AS m")
    spark.table("l").selectExpr("*", "IF(v = 2, NULL, v * 9) AS w").createOrReplaceTempView("l")
  }

  /**
   * Compares with stock Spark.
   *
   * @param isInJoin whether the matches are aggregated in the join; None where a broadcast may turn out to be small
   * @param hasPairs whether pairs were visited one by one; None where either is right
   */
  protected def checkFrame(
      hinted: String => DataFrame,
      name: String,
      isInJoin: Option[Boolean] = Some(true),
      hasPairs: Option[Boolean] = Some(false),
      hints: Seq[String] = oneIn(2)(Hints),
      settings: Settings = Nil): Unit = {
    val expected = rowsOfStock(hinted("MERGE(r)"))
    assert(expected.nonEmpty)
    for (hint <- hints; engine <- nextEngine)
      withConf((engine ++ settings :+ (InternalConf.LinearScanThreshold.key -> "0")): _*) {
        val df = hinted(hint)
        def clue = s"$name\nby $hint under $engine\n${executedPlan(df)}"
        assertSameRows(rows(df), expected, clue)
        val matches = nodes[AggregateMatchesExec](df)
        for (isThere <- isInJoin) assert(matches.nonEmpty == isThere, clue)
        for (aggregate <- matches; expected <- hasPairs)
          assert((aggregate.metrics("numPairs").value > 0) == expected, clue)
      }
  }

  /** The same of a query with `HINT` in it. */
  protected def check(
      query: String,
      isInJoin: Option[Boolean] = Some(true),
      hasPairs: Option[Boolean] = Some(false),
      hints: Seq[String] = oneIn(2)(Hints),
      settings: Settings = Nil): Unit =
    checkFrame(
      (hint: String) => spark.sql(query.replace("HINT", hint)),
      query,
      isInJoin,
      hasPairs,
      hints,
      settings)

  /** Compares rows alone. */
  protected def checkRows(query: String, hints: Seq[String]): Unit = {
    val expected = rowsOfStock(spark.sql(query))
    for (hint <- hints; engine <- nextEngine) withConf(engine: _*) {
      val df = spark.sql(query.replace("HINT", hint))
      assertSameRows(rows(df), expected, s"$query\nby $hint under $engine\n${executedPlan(df)}")
    }
  }

  /** Checks that a query raises an error, and the one that stock Spark raises. */
  protected def raisesAsStock(query: String): Unit = {
    val stock = withConf(RangeJoinTest.Oracle: _*)(outcome(spark.sql(query)))
    assert(stock.isLeft, query)
    for (hint <- oneIn(2)(Hints); engine <- nextEngine) withConf(engine: _*) {
      assert(outcome(spark.sql(query.replace("HINT", hint))) == stock, query)
    }
  }

  /**
   * Compares random functions of random windows with stock Spark.
   *
   * @param query of functions, a kind of join, its condition, and what is grouped by
   */
  protected def checkRandom(
      seed: Long,
      cases: Int,
      rightRows: Seq[Int],
      conditions: Seq[String],
      groups: Seq[String])(query: (String, String, String, String) => String): Unit = {
    val random = new Random(seed)
    def among[T](values: Seq[T]): T = values(random.nextInt(values.size))
    def one[T](values: T*): T = among(values)
    def end = s"l.t${one("", " - 1", " - 5", " - 17", " - l.w", " + 3", " - 400", " + 400")}"
    def window = one(
      s"r.t >= $end",
      s"r.t > $end",
      s"r.t <= $end",
      s"$end > r.t",
      s"r.t BETWEEN $end AND $end",
      s"r.t >= $end AND r.t < $end",
      s"r.t = $end") + one("", "", " AND r.x > 30", " AND l.v > 0")
    def function = {
      val (value, w) = (one("r.x", "r.m", "1", "r.t"), window)
      one(
        s"sum(CASE WHEN $w THEN $value END)",
        s"count(*) FILTER (WHERE $w)",
        s"min($value) FILTER (WHERE $w)",
        s"max(IF($w, $value, NULL))",
        s"sum(IF($w, $value, 0))",
        s"avg(IF($w, r.x, l.v))",
        s"count_if($w)",
        "sum(r.x)",
        "count(*)",
        "max(l.v)",
        "count(r.t)"
      )
    }
    for (_ <- 0 until cases) {
      sides(left = 1 + random.nextInt(60), right = 1 + random.nextInt(among(rightRows)))
      val functions = Seq.fill(1 + random.nextInt(6))(function).mkString(", ")
      val sql = query(functions, one("JOIN", "LEFT JOIN"), among(conditions), among(groups))
      checkRows(sql, oneIn(3)(Hints))
    }
  }
}
