// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm

import org.scalatest.tagobjects.Slow

/**
 * A bound need not rise with the column it is made of: what it is made of is not what a side may be
 * sorted by.
 */
class MonotonicitySuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast)

  testOfCases("a bound need not rise with its column", 3)(
    Seq("10 - l.t", "l.t % 7", "l.t * -2", "abs(l.t)", "pmod(l.t * 31, 17)")) { bounds =>
    val rows = (-20 to 20).map(t => s"1, $t")
    tables("k INT, t INT")(rows: _*)(rows: _*)
    for (bound <- bounds) {
      val joinTypes = JoinTypes.iterator
      def next() = joinTypes.next()
      checkRange(s"r.t >= $bound AND r.t <= $bound + 3", next())
      checkRange(s"r.t >= l.t AND r.t <= $bound", next())
      val buffered = bound.replace("l.t", "r.t")
      checkRange(s"l.t >= $buffered AND l.t <= $buffered + 3", next())
      checkRange(s"r.t >= $bound", next())
      checkRange(s"$buffered < l.t", next())
      checkRange(s"r.t <= $bound AND $buffered <= l.t", next())
      checkRange(s"r.t BETWEEN $bound AND 2 * $bound", next())
    }
  }

  test("the falling bound 10 - t") {
    tables("k INT, t INT")("1, 1", "1, 5", "1, 9")("1, 9", "1, 5", "1, 1", "1, 0")
    check("r.t BETWEEN 10 - l.t AND 10 - l.t", SomeTypes)(1 -> 1, 2 -> 2, 3 -> 3)
    check("l.t BETWEEN 9 - r.t AND 10 - r.t", SomeTypes)(1 -> 1, 2 -> 2, 3 -> 3, 3 -> 4)
    check("-r.t <= -l.t AND -r.t >= -l.t - 1", InnerAndFull)(1 -> 3, 2 -> 2, 3 -> 1)
  }

  test("the remainder t % 7 falls at every seventh row") {
    tables("k INT, t INT")("1, 5", "1, 6", "1, 7", "1, -8")("1, 0", "1, 6", "1, -1", "1, 1")
    check(
      "r.t BETWEEN l.t % 7 AND l.t % 7 + 1",
      SomeTypes)(1 -> 2, 2 -> 2, 3 -> 1, 3 -> 4, 4 -> 1, 4 -> 3)
    check("l.t BETWEEN r.t % 7 AND r.t % 7 + 1", InnerAndFull)(2 -> 2, 3 -> 2)
  }

  test("a product with a column rises, falls or stays, row by row") {
    table("l", "k INT, t INT, s INT")("1, 3, 2", "1, 3, -2", "1, 3, 0", "1, -3, -2", "1, 3, NULL")
    table("r", "k INT, t INT, s INT")("1, 6, 1", "1, -6, 1", "1, 0, 1", "1, -7, -1")
    check("r.t BETWEEN l.t * l.s AND l.t * l.s + 1", SomeTypes)(1 -> 1, 2 -> 2, 3 -> 3, 4 -> 1)
    check(
      "r.t * r.s BETWEEN l.t * l.s AND l.t * l.s + 1",
      InnerAndFull)(idPairs("1: 1 4, 2: 2, 3: 3, 4: 1 4"): _*)
    check("r.t >= l.t * l.s", SomeTypes)(1 -> 1, 2 -> 1, 2 -> 2, 2 -> 3, 3 -> 1, 3 -> 3, 4 -> 1)
  }

  test("functions of other types that do not rise", Slow) {
    val words = Seq("'ba'", "'ab'", "'B'", "'a'", "'zz'", "''").map("1, " + _)
    tables("k INT, t STRING")(words: _*)(words: _*)
    for (bound <- Seq("reverse(l.t)", "lower(l.t)", "substring(l.t, 2)", "concat('b', l.t)")) {
      checkRange(s"r.t BETWEEN $bound AND concat($bound, 'z')", FullOuter)
      checkRange(s"r.t < $bound")
    }
    val numbers = (-9 to 9).map(i => s"1, '${i * 0.7}'")
    for (columnType <- Seq("DOUBLE", "DECIMAL(10, 1)", "DECIMAL(30, 1)")) {
      tables(s"k INT, t $columnType")(numbers: _*)(numbers: _*)
      for (bound <- Seq("-l.t", "l.t % 2", "l.t * l.t", "round(l.t / 3)", "abs(l.t)")) {
        checkRange(s"r.t BETWEEN $bound - 1 AND $bound + 1", FullOuter)
      }
    }
  }

  test("a bound made of several columns, of which none leads") {
    val rows = for (t <- 0 to 4; u <- 0 to 4) yield s"1, $t, $u"
    tables("k INT, t INT, u INT")(rows: _*)(rows.reverse: _*)
    checkRange("r.t + r.u BETWEEN l.t - l.u AND l.t - l.u + 1", FullOuter)
    checkRange("r.t BETWEEN least(l.t, l.u) AND greatest(l.t, l.u)", LeftOuter)
    checkRange("l.t * l.u <= r.t - r.u AND r.t <= l.t + l.u", RightOuter)
    checkRange("l.t - l.u < r.t - r.u AND l.u - l.t < r.u", LeftAnti)
  }
}
