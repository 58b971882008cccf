// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.functions.{rand, udf}
import org.apache.spark.sql.rangejoin.ErrorCondition

/**
 * What a condition may be made of: nondeterministic expressions stay with stock; subqueries and
 * functions of the user work as bounds and as residual.
 */
class ExpressionSuite extends SemanticsTest {
  import ExpressionSuite._
  import SemanticsTest._

  private val band = "r.t BETWEEN l.t - 2 AND l.t + 2"

  private def sampleTables(): Unit =
    tables("k INT, t INT, v INT")("1, 5, 1", "1, 9, 2", "2, 5, 3", "3, 1, 4")(
      "1, 4, 1",
      "1, 7, 2",
      "2, 9, 3",
      "1, 30, 4",
      "NULL, 5, 5")

  private def register(): Unit = {
    spark.udf.register("twice", twice _)
    spark.udf.register("bothOdd", bothOdd _)
    spark.udf.register("noise", udf(() => 1).asNondeterministic())
  }

  test("a nondeterministic condition is an error of stock, and stays above the join elsewhere") {
    sampleTables()
    register()
    for (condition <- Seq(
        s"$band AND l.v + r.v + rand() < 100",
        "r.t BETWEEN l.t - 2 + rand() AND l.t + 2",
        s"$band AND noise() + l.v + r.v > 0"
      )) {
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        val error = intercept[AnalysisException](joinOn(FullOuter, s"l.k = r.k AND $condition"))
        assert(ErrorCondition.of(error) == "INVALID_NON_DETERMINISTIC_EXPRESSIONS")
      }
    }
    for (condition <- Seq("l.v + r.v + rand() < 100", "noise() + r.t BETWEEN r.t AND l.t + 3")) {
      def query = spark.sql(
        s"SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND $band WHERE $condition")
      assert(rowsAsStock(query) == Seq("1|1", "1|2", "2|2"))
    }
  }

  test("a nondeterministic condition that a subquery brings into the join is left to stock") {
    sampleTables()
    register()
    val query = "SELECT l.id FROM l WHERE EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND " +
      s"$band AND noise() + l.v + r.v > 0)"
    for (settings <- bothEngines) withConf(settings: _*) {
      val df = spark.sql(query)
      assert(rangeJoins(df).isEmpty && stockJoins(df).size == 1, executedPlan(df))
      assert(rows(df) == Seq("1", "2"))
    }
  }

  test("a nondeterministic column below the join is one value, and a column like any other") {
    val l = spark.range(40).select((rand(1) * 10).as("t"), rand(2).as("x")).selectExpr(
      "t",
      "cast(x * 3 AS INT) AS k")
    l.createOrReplaceTempView("l")
    spark.range(40).selectExpr("id AS t", "id % 3 AS k").createOrReplaceTempView("r")
    assert(checkAgainstStock(
      spark.sql("SELECT * FROM l JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 1 AND l.t + 1")) > 0)
  }

  test("subqueries in the residual and as bounds") {
    sampleTables()
    val greatest = "(SELECT max(v) FROM r)"
    check(s"$band AND l.v + r.v < $greatest - 1", SomeTypes)(1 -> 1, 1 -> 2)
    check(
      s"r.t BETWEEN l.t - $greatest AND l.t + $greatest",
      SomeTypes)(idPairs("1: 1 2, 2: 1 2, 3: 3"): _*)
    check(s"r.t >= l.t + $greatest", Seq(Inner, FullOuter))(1 -> 4, 2 -> 4)
    check(s"abs(l.t - r.t) <= (SELECT min(v) FROM l)", Seq(Inner, LeftOuter))(1 -> 1)
    val none = "(SELECT max(v) FROM l WHERE v > 100)"
    check(s"r.t BETWEEN l.t - $none AND l.t + 2", Seq(Inner, LeftOuter, FullOuter))()
  }

  test("IN a list of a subquery, in the residual") {
    sampleTables()
    val query = "SELECT l.id, r.id FROM l JOIN r ON l.k = r.k AND " + band +
      " WHERE r.v IN (SELECT v FROM l WHERE v > 1) OR l.v = r.v"
    for (settings <- bothEngines) withConf(settings: _*) {
      assert(rangeJoins(spark.sql(query)).size == 1)
      assert(rows(spark.sql(query)) == Seq("1|1", "1|2", "2|2"))
    }
  }

  test("functions of the user as residual") {
    sampleTables()
    register()
    check(s"$band AND bothOdd(l.v, r.v)", SomeTypes)(1 -> 1)
    check(s"bothOdd(l.v, r.v) AND r.t <= l.t", SomeTypes)(1 -> 1)
    check(s"$band AND twice(r.v) > twice(l.v) AND bothOdd(twice(l.v) + 1, 1)", InnerAndFull)(
      1 -> 2)
  }

  test("functions of the user as bounds") {
    sampleTables()
    register()
    check("r.t BETWEEN twice(l.t) - 6 AND twice(l.t)", SomeTypes)(1 -> 1, 1 -> 2, 3 -> 3)
    check("twice(r.t) >= l.t AND twice(r.t) <= l.t + 5", SomeTypes)(1 -> 1, 2 -> 2)
    check("twice(r.t) < twice(l.t)", InnerAndFull)(1 -> 1, 2 -> 1, 2 -> 2)
    check("abs(twice(l.t) - twice(r.t)) <= 2", InnerAndFull)(1 -> 1)
  }

  test("conjuncts in any order, nesting and orientation, and below NOT") {
    sampleTables()
    val pairs = Seq(1 -> 1, 1 -> 2, 2 -> 2)
    for (condition <- Seq(
        "l.t - 2 <= r.t AND (l.k = r.k AND l.t + 2 >= r.t)",
        "(r.t <= 2 + l.t AND l.k = r.k) AND NOT r.t < l.t - 2",
        "NOT (l.k <> r.k OR r.t > l.t + 2 OR r.t < l.t - 2)",
        "l.t BETWEEN r.t - 2 AND r.t + 2 AND r.k = l.k",
        "r.t + 2 >= l.t AND l.t + 2 >= r.t AND l.k = r.k AND r.t > -100 AND (l.v > 0 OR r.v > 0)"
      )) {
      checkOn(condition, InnerAndFull)(pairs: _*)
    }
  }

  test("a conjunct that is written twice, and a range that says the same twice") {
    sampleTables()
    check(s"$band AND $band AND r.t <= l.t + 2", SomeTypes)(1 -> 1, 1 -> 2, 2 -> 2)
    check(s"$band AND r.t <= l.t + 1 AND r.t >= l.t - 1 AND r.t < l.t", InnerAndFull)(1 -> 1)
  }
}

object ExpressionSuite {
  private def twice(t: Int): Int = 2 * t
  private def bothOdd(a: Int, b: Int): Boolean = a % 2 != 0 && b % 2 != 0
}
