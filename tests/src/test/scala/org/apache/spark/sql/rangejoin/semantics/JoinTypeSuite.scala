// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm

import org.scalatest.tagobjects.Slow

/** Every join type with every shape of a range, with and without a residual. */
class JoinTypeSuite extends SemanticsTest {
  import PlanForm._
  import SampleRows._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] =
    Seq(Merged, Broadcast, Keyless, PreservedLeft, PreservedRight, Shuffled)

  private def sampleTables(): Unit =
    tables("k INT, t INT, u INT, v INT")(Left.map(_.sql): _*)(Right.map(_.sql): _*)

  for (shape <- Shapes) {
    test(s"${shape.name}, in every join type") {
      sampleTables()
      val inner = joinOn(Inner, keyed(shape.sql))
      val ofForm = form match {
        case Merged   => rangeJoins(inner)
        case Shuffled => shuffledJoins(inner)
        case _        => broadcastJoins(inner)
      }
      assert(ofForm.size == 1, executedPlan(inner))
      check(shape.sql, JoinTypes)(pairs(shape): _*)
    }

    // What is asked of a pair does not depend on how it was found.
    testIn(formsInTurn)(
      s"${shape.name} with a residual of both sides, in every join type",
      slowButOneIn(3)(s"residual ${shape.name}"): _*) {
      sampleTables()
      val refused = shape.and("(l.v + r.v) % 2 = 0")((l, r) => (l.v + r.v) % 2 == 0)
      assert(pairs(refused).size < pairs(shape).size)
      check(refused.sql, JoinTypes)(pairs(refused): _*)
    }

    testIn(formsInTurn)(
      s"${shape.name} with conjuncts of one side, in every join type",
      slowButOneIn(3)(s"one side ${shape.name}"): _*) {
      sampleTables()
      val ofLeft = shape.and("l.v > 2")((l, _) => l.v > 2)
      check(ofLeft.sql, Seq(LeftOuter, FullOuter, Existence))(pairs(ofLeft): _*)
      val ofBoth = shape.and("r.v > 1 AND l.v <> 3")((l, r) => r.v > 1 && l.v != 3)
      check(ofBoth.sql, Seq(RightOuter, FullOuter, LeftSemi, LeftAnti))(pairs(ofBoth): _*)
    }
  }

  test("a residual that refuses all pairs, and one that is asked before the range", Slow) {
    sampleTables()
    for (shape <- Shapes.take(5)) {
      check(s"l.v + r.v > 100 AND ${shape.sql}", Seq(LeftOuter, FullOuter, LeftAnti))()
      val either = shape.and("(l.v = 3 OR r.v = 3)")((l, r) => l.v == 3 || r.v == 3)
      check(either.sql, Seq(FullOuter, Existence, RightOuter))(pairs(either): _*)
    }
  }

  test("a boolean column, NULL at times, as residual of one side") {
    table("l", "k INT, t INT, b BOOLEAN")("1, 5, true", "1, 5, false", "1, 5, NULL", "2, 5, true")
    table("r", "k INT, t INT, b BOOLEAN")("1, 6, true", "1, 6, NULL", "1, 6, false")
    val band = "r.t BETWEEN l.t - 2 AND l.t + 2"
    check(s"l.b AND $band", JoinTypes)(1 -> 1, 1 -> 2, 1 -> 3)
    check(s"$band AND NOT l.b AND r.b", JoinTypes)(2 -> 1)
  }

  for (empty <- Seq(Seq("l"), Seq("r"), Seq("l", "r"))) {
    test(s"without rows in ${empty.mkString(" and ")}") {
      sampleTables()
      empty.foreach(emptied)
      check(Shapes.head.sql, JoinTypes)()
      check("r.t >= l.t", SomeTypes)()
    }
  }

  test("keys of one side only") {
    tables("k INT, t INT")("1, 5")("2, 5")
    check("r.t BETWEEN l.t - 1 AND l.t + 1", JoinTypes)()
    check("r.t BETWEEN l.t - 1 AND l.t + 1 AND l.k > 5")()
  }

  test("EXISTS beside OR, NOT EXISTS, and both under OR") {
    sampleTables()
    def exists(shape: Shape) = s"EXISTS (SELECT 1 FROM r WHERE l.k = r.k AND ${shape.sql})"
    def found(shape: Shape) = pairs(shape).map(_._1).toSet
    val (band, lower) = (Shapes.head, Shapes(4))
    def checkWhere(where: String, joins: Int)(ids: Int => Boolean): Unit = {
      val actual = rowsAsStock(
        spark.sql(s"SELECT l.id FROM l WHERE $where"),
        joins,
        bothEngines)
      assert(actual == Left.indices.map(_ + 1).filter(ids).map(_.toString).sorted)
    }
    checkWhere(s"${exists(band)} OR l.v = 1", 1)(i => found(band)(i) || Left(i - 1).v == 1)
    checkWhere(s"NOT ${exists(band)} OR l.v = 2", 1)(i => !found(band)(i) || Left(i - 1).v == 2)
    checkWhere(s"${exists(band)} AND NOT ${exists(lower)}", 2)(i =>
      found(band)(i) && !found(lower)(i))
    checkWhere(s"${exists(band)} OR NOT ${exists(lower)}", 2)(i =>
      found(band)(i) || !found(lower)(i))
    checkWhere(s"${exists(band)} AND ${exists(lower)} AND l.v > 1", 2)(i =>
      found(band)(i) && found(lower)(i) && Left(i - 1).v > 1)
  }

  test("IN with a range is a semi join, NOT IN is left to stock and right") {
    sampleTables()
    val within = "SELECT r.k FROM r WHERE r.t BETWEEN l.t - 2 AND l.t + 2"
    assert(checkAgainstStock(spark.sql(s"SELECT l.id FROM l WHERE l.k IN ($within)")) > 2)
    assert(
      checkAgainstStock(spark.sql(s"SELECT l.id FROM l WHERE l.k IN ($within) OR l.v = 1")) > 2)
    for (query <- Seq(
        s"SELECT l.id FROM l WHERE l.k NOT IN ($within)",
        "SELECT l.id FROM l WHERE l.t NOT IN (SELECT r.t FROM r)",
        "SELECT l.id FROM l WHERE l.t NOT IN (SELECT r.t FROM r WHERE l.k = r.k AND r.u <= l.u)",
        "SELECT l.id FROM l WHERE (l.k, l.t) NOT IN (SELECT r.k, r.t FROM r WHERE r.u < l.u)"
      )) {
      val expected = rowsOfStock(spark.sql(query))
      for (settings <- bothEngines) withConf(settings: _*) {
        assertSameRows(rows(spark.sql(query)), expected, query)
      }
    }
  }
}
