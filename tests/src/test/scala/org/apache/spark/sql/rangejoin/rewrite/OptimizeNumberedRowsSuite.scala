// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.rewrite

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.types.{DoubleType, LongType}

import org.scalatest.tagobjects.Slow

/** What a query does with a ranking of matches: reads no column of it, filters left rows, asks for a few. */
class OptimizeNumberedRowsSuite extends RangeJoinTest {

  private val Range = "r.k = l.k AND r.t <= l.t"
  private val Latest = s"SELECT max_by(r.v, r.t) FROM r WHERE $Range"

  private def views(): Unit = {
    def side(name: String, rows: Int) = spark.range(rows)
      .selectExpr(
        "id",
        "IF(id % 13 = 5, NULL, id % 7) AS k",
        "IF(id % 11 = 3, NULL, id * 7 % 50) AS t",
        "id * 3 AS v",
        "concat('n', id) AS s")
      .createOrReplaceTempView(name)
    side("l", 200)
    side("r", 300)
    spark.sql(s"SELECT l.*, ($Latest) AS latest FROM l").createOrReplaceTempView("priced")
  }

  private def joins(df: DataFrame): Seq[Join] =
    execution(df).optimizedPlan.collect { case join: Join => join }

  /** Runs a query of this number of joins, and compares its rows. */
  private def check(query: String, count: Int): Seq[Join] = {
    val expected = rowsOfStock(spark.sql(query))
    for (engine <- nextEngine) withConf(engine: _*) {
      val df = spark.sql(query)
      val plan = executedPlan(df)
      assertSameRows(rows(df), expected, s"$query\n$plan")
      assert(joins(df).size == count && rangeJoins(df).size == count, s"$query\n$plan")
    }
    joins(spark.sql(query))
  }

  private def lateral(how: String, limit: Int): String =
    s"l $how LATERAL (SELECT r.v FROM r WHERE $Range ORDER BY r.t DESC, r.id LIMIT $limit) AS x"

  test("a subquery that nobody reads is not run") {
    views()
    check("SELECT count(*) FROM priced", 0)
    check("SELECT id, s FROM priced WHERE id BETWEEN 50 AND 60", 0)
    check("SELECT k, max(v) FROM priced GROUP BY k", 0)
    check("SELECT DISTINCT k FROM priced", 0)
    check("SELECT id, latest FROM priced", 1)
    if (hasCorrelatedLimits) {
      check(s"SELECT DISTINCT l.k FROM ${lateral("LEFT JOIN", 1)}", 0)
      check(s"SELECT l.id FROM ${lateral("LEFT JOIN", 2)}", 1)
      check(s"SELECT l.id FROM ${lateral("INNER JOIN", 1)}", 1)
    }
  }

  test("a subquery that nobody reads raises no error") {
    views()
    val dirty = "SELECT l.id, (SELECT max(r.t) FROM r WHERE r.k = l.k AND r.t <= " +
      "CAST(if(l.id < 0, l.s, concat('x', l.id)) AS INT)) AS latest FROM l"
    check(s"SELECT count(id) FROM ($dirty)", 0)
    withConf("spark.sql.ansi.enabled" -> "true") {
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        val error = intercept[Exception](spark.sql(dirty).collect())
        assert(error.toString.contains("CAST_INVALID_INPUT"))
      }
    }
  }

  test("an earlier filter of left rows stays before a later one, which it may guard") {
    views()
    val (left, right) = (analyzed("l"), analyzed("r"))
    def of(side: LogicalPlan, name: String) = side.output.find(_.name == name).get
    val (k, t, id) = (of(left, "k"), of(left, "t"), of(left, "id"))
    val ranked = RankedMatches.of(
      left,
      right,
      Seq(EqualTo(of(right, "k"), k), LessThanOrEqual(of(right, "t"), t)),
      Seq(SortOrder(of(right, "t"), Descending)),
      limit = 1).get.plan
    val numbered = joinsOf(ranked).head.left
    val guard = Not(EqualTo(id, Literal(0L)))
    val guarded = GreaterThan(Divide(Cast(t, DoubleType), Cast(id, DoubleType)), Literal(1.0))
    for ((earlier, stays) <-
        Seq(guard -> false, And(guard, LessThan(Rand(1), Literal(2.0))) -> true)) {
      val before = NumberedRows.withLeft(ranked, Filter(earlier, numbered))
      val optimized = and(before, guarded)
      val found = joinsOf(optimized).head.left.collect { case Filter(condition, _) => condition }
      assert(found == Seq(And(earlier, guarded)), optimized)
      assert(joinsOf(optimized).head.left.isInstanceOf[Filter] == stays, optimized)
    }
    // It reads a column of an enclosing query as well.
    val outer = LessThan(id, OuterReference(AttributeReference("o", LongType)()))
    val kept = and(ranked, outer)
    assert(joinsOf(kept).head.left == numbered, kept)
  }

  /** A ranking with one more filter. */
  private def and(ranked: LogicalPlan, filter: Expression): LogicalPlan =
    OptimizeNumberedRows(ranked.transform {
      case top @ Filter(rank, _: Window) => top.copy(condition = And(rank, filter))
    })

  private def analyzed(name: String): LogicalPlan = execution(spark.table(name)).analyzed

  private def joinsOf(plan: LogicalPlan): Seq[Join] = plan.collect { case join: Join => join }

  test("filters on left columns go below the join, with what they compute", Slow) {
    views()
    def leftFilters(query: String, count: Int): Seq[String] = check(query, count)
      .map(_.left.collect { case Filter(condition, _) => condition.toString }.mkString)
    for (filter <- Seq("id < 20", "v % 9 = 3", "s LIKE 'n1%'", "id < 100 AND t > 3"))
      assert(
        leftFilters(s"SELECT * FROM priced WHERE $filter", 1).forall(_.contains("id#")),
        filter)
    val some =
      "SELECT * FROM (SELECT *, id * 2 AS twice FROM priced) WHERE twice < 50 AND latest > 9"
    assert(leftFilters(some, 1).forall(_.contains("< 25")) ||
      leftFilters(some, 1).forall(_.contains("* 2) < 50")))
    val both =
      s"SELECT id, latest, (SELECT min(r.t) FROM r WHERE r.k = p.k AND r.t > p.t) AS next " +
        "FROM priced p WHERE id > 150"
    assert(leftFilters(both, 2).forall(_.contains("> 150")))
    if (hasCorrelatedLimits) {
      for (limit <- Seq(1, 3); how <- Seq("LEFT JOIN", "INNER JOIN"))
        assert(leftFilters(s"SELECT * FROM ${lateral(how, limit)} WHERE l.id > 120 AND x.v <> 9", 1)
          .forall(_.contains("> 120")))
    }
    // Of a value that is not computed twice.
    val random = spark.sql(s"SELECT x, ($Latest) AS latest FROM (SELECT *, rand(5) AS x FROM l) l")
    assert(random.where("x > 0.5").collect().forall(_.getDouble(0) > 0.5))
    // Not below: it would choose other rows.
    assert(leftFilters("SELECT * FROM priced WHERE latest % 2 = 1 AND rand(3) < 2", 1)
      .forall(_.isEmpty))
  }

  test("a limit goes below the join if each left row comes out once") {
    views()
    def isLimited(query: String): Boolean = joins(spark.sql(query))
      .exists(_.left.exists(_.isInstanceOf[LocalLimit]))
    val query = "SELECT id, s, latest FROM priced LIMIT 7"
    assert(isLimited(query))
    for (engine <- nextEngine) withConf(engine: _*) {
      val found = rows(spark.sql(query))
      assert(found.size == 7)
      val all = rowsOfStock(spark.sql("SELECT id, s, latest FROM priced"))
      assert(found.diff(all).isEmpty)
    }
    assert(rows(spark.sql("SELECT * FROM priced LIMIT 1000")).size == 200)
    assert(!isLimited("SELECT * FROM priced WHERE latest > 9 LIMIT 7"))
    if (hasCorrelatedLimits) {
      assert(isLimited(s"SELECT * FROM ${lateral("LEFT JOIN", 1)} LIMIT 7"))
      assert(!isLimited(s"SELECT * FROM ${lateral("LEFT JOIN", 2)} LIMIT 7"))
      assert(!isLimited(s"SELECT * FROM ${lateral("INNER JOIN", 1)} LIMIT 7"))
    }
  }
}
