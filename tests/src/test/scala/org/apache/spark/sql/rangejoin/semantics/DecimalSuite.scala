// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm

import org.scalatest.tagobjects.Slow

/** Decimals are compared by value, whatever their precision and scale. */
class DecimalSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast)

  test("decimals of different scales") {
    table("l", "k INT, t DECIMAL(10, 2)")("1, 1.00", "1, 1.10", "1, -1.00", "1, 99999999.99")
    table("r", "k INT, t DECIMAL(20, 5)")(
      "1, 1.00000",
      "1, 1.09999",
      "1, -1.00001",
      "1, 99999999.99001",
      "1, 1.10000")
    check("r.t BETWEEN l.t AND l.t", SomeTypes)(1 -> 1, 2 -> 5)
    check(
      "r.t BETWEEN l.t - 0.00001 AND l.t + 0.00001",
      SomeTypes)(idPairs("1: 1, 2: 2 5, 3: 3, 4: 4"): _*)
    check("r.t BETWEEN l.t - 0.1 AND l.t", InnerAndFull)(1 -> 1, 2 -> 1, 2 -> 2, 2 -> 5, 3 -> 3)
    check("r.t > l.t", InnerAndFull)(idPairs("1: 2 4 5, 2: 4, 3: 1 2 4 5, 4: 4"): _*)
    for (on <- Seq(true, false)) ansi(on) {
      checkUnlessStockRaises(
        joinOn(FullOuter, "l.k = r.k AND abs(l.t - r.t) <= 0.00001"),
        planned = false)
    }
  }

  test("the difference of decimals in whole digits of the finer scale") {
    table("l", "k INT, t DECIMAL(6, 2)")("1, 1.00", "1, 1.10", "1, -9999.99")
    table("r", "k INT, t DECIMAL(8, 3)")("1, 1.000", "1, 1.099", "1, 1.001", "1, 99999.999")
    for (on <- Seq(true, false)) ansi(on) {
      check("abs(l.t - r.t) <= 0.001", InnerAndFull)(1 -> 1, 1 -> 3, 2 -> 2)
      check("l.t - r.t BETWEEN 0.000 AND 0.1", InnerAndFull)(1 -> 1, 2 -> 1, 2 -> 2, 2 -> 3)
      check("abs(l.t - r.t) < 0.0010", InnerAndFull)(1 -> 1)
      check("abs(l.t - r.t) <= 1", InnerAndFull)(
        (for (l <- 1 to 2; r <- 1 to 3) yield l -> r): _*)
    }
  }

  test("decimals of 38 digits that differ in the last one", Slow) {
    val digits = "1234567890123456789012345678901234567"
    for (columnType <- Seq("DECIMAL(38, 0)", "DECIMAL(38, 19)", "DECIMAL(38, 38)")) {
      val scale = columnType.filter(_.isDigit).drop(2).toInt
      def value(last: Int, sign: String = "") = {
        val all = s"$digits$last"
        s"1, '$sign${all.dropRight(scale)}.${all.takeRight(scale)}'".replace(".'", "'")
      }
      tables(s"k INT, t $columnType")(value(1), value(3), value(1, "-"))(
        value(1),
        value(2),
        value(4),
        value(2, "-"))
      check("r.t >= l.t", Seq(Inner, FullOuter))(
        Seq(1 -> 1, 1 -> 2, 1 -> 3, 2 -> 3, 3 -> 1, 3 -> 2, 3 -> 3): _*)
      check("r.t BETWEEN l.t AND l.t", InnerAndFull)(1 -> 1)
      for (on <- Seq(true, false)) ansi(on) {
        checkUnlessStockRaises(
          joinOn(Inner, "l.k = r.k AND r.t BETWEEN l.t - 1 AND l.t + 1"))
        checkUnlessStockRaises(
          joinOn(FullOuter, "l.k = r.k AND l.t + r.t >= 0 AND r.t > l.t"),
          oneOf(columnType))
      }
    }
  }

  test("decimals whose common type has no room for both") {
    table("l", "k INT, t DECIMAL(38, 0)")(
      "1, '99999999999999999999999999999999999999'",
      "1, '1'",
      "1, '0'",
      "2, '12345678901234567890123456789012345678'")
    table("r", "k INT, t DECIMAL(38, 38)")(
      "1, '0.99999999999999999999999999999999999999'",
      "1, '0'",
      "1, '-0.00000000000000000000000000000000000001'",
      "3, '0.5'")
    for (on <- Seq(true, false);
      range <- Seq(
        "r.t BETWEEN l.t AND l.t",
        "r.t < l.t",
        "l.t BETWEEN r.t - 1 AND r.t + 1"
      )) ansi(on) {
      for (joinType <- InnerAndFull) {
        checkUnlessStockRaises(joinOn(joinType, s"l.k = r.k AND $range"), oneOf(range + on))
      }
    }
  }

  test("decimals beside integers and floating point") {
    table("l", "k INT, t DECIMAL(30, 2)")("1, 1.00", "1, 0.10", "1, 9223372036854775807.00")
    table("r", "k INT, t BIGINT, f DOUBLE")(
      "1, 1, 0.1",
      "1, 9223372036854775807, 9223372036854775807",
      "1, 0, double('NaN')")
    check("r.t BETWEEN l.t AND l.t", InnerAndFull)(1 -> 1, 3 -> 2)
    check("r.t BETWEEN l.t - 0.1 AND l.t", InnerAndFull)(1 -> 1, 2 -> 3, 3 -> 2)
    check("r.f BETWEEN l.t AND l.t", InnerAndFull)(2 -> 1, 3 -> 2)
    check("r.f >= l.t", InnerAndFull)(1 -> 2, 1 -> 3, 2 -> 1, 2 -> 2, 2 -> 3, 3 -> 2, 3 -> 3)
  }
}
