// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.PlanForm

/**
 * Floating-point arithmetic is rounded, so that `r.t >= l.t - d`, `r.t + d >= l.t` and
 * `l.t - r.t <= d` are three predicates: a term stays on the side it was written on.
 */
class FloatArithmeticSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast)

  /** A left and a right value, in a key of their own. */
  private def pairs(values: (String, String)*): Unit =
    tables("k INT, t DOUBLE")(values.zipWithIndex.map { case ((l, _), k) => s"$k, '$l'" }: _*)(
      values.zipWithIndex.map { case ((_, r), k) => s"$k, '$r'" }: _*)

  /** Checks three ways to write that the right value is at most `d` below the left one. */
  private def checkForms(d: String)(lowered: Int*)(raised: Int*)(difference: Int*): Unit = {
    def itself(ids: Seq[Int]) = ids.map(i => i -> i)
    check(s"r.t >= l.t - $d", InnerAndFull)(itself(lowered): _*)
    check(s"r.t + $d >= l.t", InnerAndFull)(itself(raised): _*)
    check(s"r.t >= l.t - $d AND r.t <= l.t", InnerAndFull)(itself(lowered): _*)
    check(s"r.t + $d >= l.t AND r.t <= l.t", InnerAndFull)(itself(raised): _*)
    check(s"l.t BETWEEN r.t AND r.t + $d", InnerAndFull)(itself(raised): _*)
    check(s"l.t - r.t BETWEEN 0 AND $d", InnerAndFull)(itself(difference): _*)
    check(s"abs(l.t - r.t) <= $d", SomeTypes)(itself(difference): _*)
  }

  test("a distance of 0.2 differs in the last bit") {
    pairs("0.8" -> "0.6", "0.9" -> "0.7", "0.3" -> "0.09999999999999996")
    checkForms("0.2D")(2)(1, 3)(3)
  }

  test("a distance of 0.3 differs in the last bit") {
    pairs("0.8" -> "0.5", "0.7" -> "0.3999999999999999", "1.1" -> "0.8")
    checkForms("0.3D")(1, 3)(1, 2, 3)()
  }

  test("a distance across zero differs in the last bit") {
    pairs("0.1" -> "-0.6", "0.3" -> "-0.4", "0.6" -> "-0.1")
    checkForms("0.7D")(1)(3)(1, 2, 3)
  }

  test("a distance that is lost against large values") {
    pairs(
      "9007199254740992" -> "9007199254740992",
      "1e300" -> "1e300",
      "1e16" -> "9999999999999998")
    // The last sum is half-way between two numbers, and so is the last bound.
    checkForms("1.0D")(1, 2)(1, 2, 3)(1, 2)
    check("r.t > l.t - 0.5D AND r.t < l.t + 0.5D", InnerAndFull)()
  }

  for ((columnType, d) <- Seq("FLOAT" -> "cast(0.3 AS FLOAT)", "DOUBLE" -> "0.3D")) {
    test(s"tenths that were multiplied and tenths that were added up, as $columnType") {
      val multiplied = (0 to 20).map(i => s"1, '${i * 0.1}'")
      val added = Iterator.iterate(0.0)(_ + 0.1).take(21).map(t => s"1, '$t'").toSeq
      tables(s"k INT, t $columnType")(multiplied: _*)(added: _*)
      val bands = Seq(
        s"r.t >= l.t - $d AND r.t <= l.t + $d",
        s"r.t + $d >= l.t AND r.t - $d <= l.t",
        s"abs(l.t - r.t) <= $d",
        s"r.t - l.t BETWEEN -$d AND $d",
        s"r.t >= l.t - $d AND l.t >= r.t - $d",
        s"abs(l.t - r.t) < $d"
      )
      val sizes = for (band <- bands) yield checkRange(band, FullOuter)
      assert(sizes.distinct.size > 2, sizes)
    }
  }

  // For Spark both sums are one expression: its canonical form has the terms in another order.
  test("a sum is less than one of the same numbers in another order") {
    table("l", "k INT, a DOUBLE, b DOUBLE, c DOUBLE")("1, 0.1, 0.2, 0.3", "1, 0.3, 0.2, 0.1")
    table("r", "k INT, v DOUBLE")("1, 1e9")
    // Spark would compute one for both.
    withConf(SQLConf.SUBEXPRESSION_ELIMINATION_ENABLED.key -> "false") {
      // 0.6 is less than 0.6000000000000001.
      check("least((l.a + l.b) + l.c, r.v) < (l.c + l.b) + l.a", SomeTypes)(2 -> 1)
      check("least((l.a + l.b) + l.c, r.v) > (l.c + l.b) + l.a", SomeTypes)(1 -> 1)
    }
  }

  test("a tolerance in a column of its own type") {
    table("l", "k INT, t DOUBLE, d FLOAT")("1, 0.5, '0.1'", "1, 0.5, 'NaN'", "1, 0.5, 'Infinity'")
    table("r", "k INT, t DOUBLE")("1, '0.4'", "1, 'NaN'", "1, '-Infinity'", "1, '100'")
    // FLOAT 0.1 is a little more than DOUBLE 0.1; NaN is above NaN only.
    check("r.t BETWEEN l.t - l.d AND l.t + l.d", SomeTypes)(1 -> 1, 2 -> 2, 3 -> 1, 3 -> 3, 3 -> 4)
    check("abs(l.t - r.t) <= l.d", SomeTypes)(idPairs("1: 1, 2: 1 2 3 4, 3: 1 3 4"): _*)
  }
}
