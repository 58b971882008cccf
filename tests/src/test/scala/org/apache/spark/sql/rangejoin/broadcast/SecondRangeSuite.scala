// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.optimizer.InferFiltersFromConstraints
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.execution.joins.BroadcastHashJoinExec
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{AdaptiveEngines, Engines}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest.JoinTypes

import org.scalatest.tagobjects.Slow

/** Broadcast joins with two ranges, the second of which leaves out rows of the index. */
class SecondRangeSuite extends SemanticsTest with Broadcasting {

  private val ByBoth = InternalConf.SecondRangeThreshold.key -> "1"
  private val ByOne = InternalConf.SecondRangeThreshold.key -> "1000000"
  private val Box = "p.x BETWEEN b.x0 AND b.x1 AND p.y BETWEEN b.y0 AND b.y1"
  private val Band = "abs(p.x - b.x0) <= 0.01 AND abs(p.y - b.y0) <= 0.01"

  /** Points `p`, and boxes `b` that are a hundredth wide and high; a third of both has key 0. */
  private def boxes(points: Int, boxes: Int): Unit = {
    def random(seed: Int) = s"pmod(xxhash64(id, $seed), 1000000) / 1000000D"
    spark.range(0, points, 1, 2)
      .selectExpr("id", "id % 3 AS k", s"${random(1)} AS x", s"${random(2)} AS y")
      .createOrReplaceTempView("p")
    spark.range(0, boxes, 1, 2)
      .selectExpr("id", "id % 3 AS k", s"${random(3)} AS x0", s"${random(4)} AS y0")
      .selectExpr("*", "x0 + 0.01 AS x1", "y0 + 0.01 AS y1").createOrReplaceTempView("b")
  }

  private def candidates(df: DataFrame): Long =
    only(broadcastJoins(df)).metrics("numCandidates").value

  private def isByBoth(df: DataFrame): Boolean = only(broadcastJoins(df)).mode.second.isDefined

  for ((name, on) <- Seq("points in boxes" -> Box, "a band of two columns" -> Band);
    key <- Seq("", "p.k = b.k AND "))
    test(s"far fewer candidates: $name, $key") {
      boxes(points = 600, boxes = 9000)
      def query = spark.sql(s"SELECT /*+ BROADCAST(b) */ p.id, b.id FROM p JOIN b ON $key$on")
      val expected = rowsOfStock(query)
      assert(expected.size > 100)
      for (engine <- bothEngines) withConf(engine: _*) {
        def found(setting: (String, String)): Long = withConf(setting) {
          val df = query
          assertSameRows(rows(df), expected, s"$setting ${executedPlan(df)}")
          candidates(df)
        }
        val one = found(ByOne)
        val both = found(InternalConf.SecondRangeThreshold.key -> "1024")
        assert(both * 10 <= one, s"$both of $one")
      }
    }

  test("values at the ends of their types, NULL, NaN and errors") {
    val numbers = Seq("NULL", "0", "1", "2147483647", "-2147483648")
    val doubles =
      Seq("NULL", "0D", "-0D", "1D", "double('NaN')", "double('Infinity')", "-double('Infinity')")
    def view(name: String): Unit = spark.sql(
      s"""SELECT int(row_number() OVER (ORDER BY a, e, d, f)) AS id, * FROM
        (SELECT explode(array(${numbers.mkString(", ")})) AS a),
        LATERAL (SELECT explode(array(${numbers.mkString(", ")})) AS e),
        LATERAL (SELECT explode(array(${doubles.mkString(", ")})) AS d),
        LATERAL (SELECT explode(array(1D, double('NaN'), NULL)) AS f)""").createOrReplaceTempView(
      name)
    view("l")
    view("r")
    spark.sql("SELECT * FROM l WHERE id % 7 = 0").createOrReplaceTempView("l")
    for {
      on <- Seq(
        "l.a BETWEEN r.a AND r.e AND l.d BETWEEN r.d AND r.f",
        "l.d >= r.d AND l.d < r.f AND l.a > r.a AND l.a <= r.e",
        "l.a BETWEEN r.a - 1 AND r.a + 1 AND l.d BETWEEN r.d - 1 AND r.d + 1",
        "l.a BETWEEN r.a AND r.e AND l.d >= r.d AND (r.f IS NULL OR l.d < r.f)",
        "l.d BETWEEN r.d AND r.f AND r.a BETWEEN l.a AND coalesce(l.e, 2147483647)"
      )
      joinType <- oneIn(3)(JoinTypes)
      engine <- nextEngine
    } withConf(engine :+ ByBoth :+ (SQLConf.ANSI_ENABLED.key -> "false"): _*) {
      val expected = rowsOfStock(joinOn(joinType, on))
      val df = joinOn(joinType, on)
      assertSameRows(rows(df), expected, s"$joinType $on ${executedPlan(df)}")
      assert(broadcastJoins(df).nonEmpty, executedPlan(df))
    }
  }

  test("errors are those of stock Spark, whichever range is searched by", Slow) {
    spark.range(0, 60, 1, 1).selectExpr("int(id) AS id", "int(id) AS x", "int(id DIV 1000) AS y")
      .createOrReplaceTempView("p")
    // Half of the boxes have an end that overflows, or a divisor of 0, and are at no point by the second range.
    spark.sql("""SELECT int(id) AS id, int(id - 1) AS x0, int(id + 1) AS x1, int(id) AS x2,
        IF(odd, 2147483647, int(id + 1)) AS most, IF(odd, 0, 1) AS z, IF(odd, 50, 0) AS y0, IF(odd, 60, 61) AS y1,
        IF(odd, 51, 1) AS y2, IF(id < 0, 1, NULL) AS none
      FROM (SELECT id, pmod(hash(id), 2) = 1 AS odd FROM range(0, 300, 1, 2))""")
      .createOrReplaceTempView("b")
    val first = "p.x BETWEEN b.x0 AND b.x1"
    val second = "p.y BETWEEN b.y0 AND b.y1"
    val raises = "(p.x + 10) DIV b.z > 0"
    val firstHull = s"($first OR p.x BETWEEN b.x2 AND b.x2)"
    // Whether it fails, and whether the second range is used.
    val cases = Seq(
      s"p.x BETWEEN b.x0 AND b.most + 1 AND $second" -> (true, true),
      s"$first AND $raises AND $second" -> (true, false),
      s"$first AND $second AND $raises" -> (false, true),
      s"$first AND p.y <= b.most + 1 AND p.y >= b.y0" -> (true, true),
      s"$first AND IF(p.y = 0, NULL, 1) BETWEEN b.y0 AND b.y1 AND $raises" -> (true, true),
      // Ranges joined by OR, which their bounds do not decide.
      s"$firstHull AND ($second OR p.y BETWEEN b.y2 AND b.y2)" -> (false, true),
      s"$firstHull AND $second AND $raises" -> (false, false),
      s"$firstHull AND ($second OR p.y BETWEEN b.none AND b.none) AND $raises" -> (true, false),
      s"(($raises AND $first) OR p.x BETWEEN b.x2 AND b.x2) AND ($second OR p.y BETWEEN b.y2 AND b.y2)" -> (
        true,
        false),
      s"$firstHull AND (($raises AND $second) OR p.y BETWEEN b.y2 AND b.y2)" -> (true, false)
    )
    for ((on, (fails, byBoth)) <- cases; points <- Seq(8, 16, 60); engine <- nextEngine)
      ansi(on = true) {
        def query = spark.sql(
          s"SELECT /*+ BROADCAST(b) */ p.id, b.id FROM (SELECT * FROM p WHERE id < $points) p LEFT JOIN b ON $on")
        val expected = withConf(Flag -> "false")(outcome(query))
        assert(expected.isLeft == fails, on)
        withConf(engine :+ ByBoth: _*) {
          assert(outcome(query) == expected, s"$on of $points points")
          assert(isByBoth(query) == byBoth, on)
        }
      }
  }

  test("an index serves joins with other second ranges") {
    boxes(points = 300, boxes = 900)
    def query = spark.sql(
      s"""SELECT /*+ BROADCAST(b), BROADCAST(c) */ p.id, b.id, c.id FROM p
        JOIN b ON $Box
        JOIN b c ON p.x BETWEEN c.x0 AND c.x1 AND p.y BETWEEN c.y0 - 0.01 AND c.y1 + 0.01""")
    val expected = rowsOfStock(query)
    assert(expected.nonEmpty)
    for (engine <- Engines) withConf(engine :+ ByBoth: _*) {
      val df = query
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(nodes[RangeIndexExchangeExec](df).size == 1, executedPlan(df))
      assert(nodes[ReusedExchangeExec](df).size == 1, executedPlan(df))
    }
  }

  test("an index of one range is searched by two where a join has two") {
    boxes(points = 300, boxes = 4000)
    def query =
      spark.sql(s"""SELECT /*+ BROADCAST(b) */ p.id, b.* FROM p JOIN b ON p.x BETWEEN b.x0 AND b.x1
        UNION ALL SELECT /*+ BROADCAST(b) */ p.id, b.* FROM p JOIN b ON $Box""")
    val expected = rowsOfStock(query)
    // Filters of NULL are different ones, with which nothing is shared.
    val rules = SQLConf.OPTIMIZER_EXCLUDED_RULES.key -> InferFiltersFromConstraints.ruleName
    for (engine <- bothEngines) withConf(engine ++ Seq(ByBoth, rules): _*) {
      val df = query
      assertSameRows(rows(df), expected, executedPlan(df).toString)
      assert(nodes[ReusedExchangeExec](df).count(_.child.isInstanceOf[RangeIndexExchangeExec]) == 1)
      val candidates = broadcastJoins(df).map(_.metrics("numCandidates").value)
      assert(candidates.size == 2 && candidates.min * 5 <= candidates.max, candidates)
    }
  }

  test("adaptive execution plans again beside a ranking of matches by two ranges") {
    boxes(points = 60, boxes = 900)
    spark.range(0, 100000, 1, 2).selectExpr("id % 60 AS pid", "id AS v").where("hash(v) % 5000 = 7")
      .createOrReplaceTempView("few")
    def query = spark.sql(
      s"""SELECT t.id, t.bid, count(*) FROM (SELECT * FROM (
          SELECT /*+ BROADCAST(b) */ p.id, b.id AS bid, row_number() OVER (PARTITION BY p.id ORDER BY b.x0) AS n
          FROM (SELECT id, max(x) AS x, max(y) AS y FROM p GROUP BY id) p
          JOIN b ON p.x BETWEEN b.x0 AND b.x1 + 0.05 AND p.y BETWEEN b.y0 AND b.y1 + 0.05) WHERE n = 1) t
        JOIN few ON few.pid = t.id GROUP BY 1, 2""")
    for (engine <- AdaptiveEngines) withConf(
      engine ++ Seq(ByBoth, Threshold -> "100KB"): _*) {
      val df = query
      assertSameRows(rows(df), rowsOfStock(query), executedPlan(df).toString)
      assert(nodes[BroadcastHashJoinExec](df).size == 1, executedPlan(df))
      assert(broadcastJoins(df).flatMap(_.best).size == 1, executedPlan(df))
    }
  }

  test("what is indexed by one range alone") {
    boxes(points = 50, boxes = 60)
    spark.udf.register("same", udf((x: Double) => x))
    val first = "p.x BETWEEN b.x0 AND b.x1"
    val cases = Seq(
      s"$first AND p.y >= b.y0",
      s"$first AND p.y BETWEEN same(b.y0) AND b.y1",
      s"$first AND p.y BETWEEN b.y0 - (SELECT min(id) FROM range(3)) AND b.y1",
      s"p.x >= b.x0 AND p.y BETWEEN b.y0 AND b.y1",
      s"string(p.x) BETWEEN string(b.x0) AND string(b.x1) AND p.y BETWEEN b.y0 AND b.y1 AND p.y < 2"
    )
    for (on <- Box +: cases; engine <- nextEngine) withConf(engine :+ ByBoth: _*) {
      def query = spark.sql(s"SELECT /*+ BROADCAST(b) */ p.id, b.id FROM p JOIN b ON $on")
      val df = query
      assertSameRows(rows(df), rowsOfStock(query), on)
      assert(isByBoth(df) == (on == Box), s"$on ${executedPlan(df)}")
    }
    val ranked = spark.sql(
      s"""SELECT * FROM (SELECT p.id, row_number() OVER (PARTITION BY p.id ORDER BY b.x0) AS n
        FROM p JOIN b ON $Box) WHERE n = 1""")
    assert(broadcastJoins(ranked).forall(j => j.best.isEmpty || j.mode.second.isEmpty))
  }

  test("EXPLAIN shows the second range") {
    boxes(points = 5, boxes = 6)
    val df = spark.sql(s"SELECT /*+ BROADCAST(b) */ p.id, b.id FROM p JOIN b ON $Box")
    val join = only(broadcastJoins(df))
    assert(join.simpleString(100).contains("second range: (y#"))
    assert(join.verboseStringWithOperatorId().contains("Second range: (y#"))
  }
}
