// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm

/** An end is strict or inclusive as it is written; a band may be inverted; ties all count. */
class EndsSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, PreservedRight, Shuffled)

  private val strictness =
    for (lower <- Seq("<=", "<"); upper <- Seq("<=", "<")) yield (lower, upper)

  test("ties on both sides give all their pairs") {
    tables("k INT, t BIGINT")(
      "1, 5",
      "1, 5",
      "1, 5",
      "1, 7")("1, 5", "1, 5", "1, 6", "1, 7", "1, 7")
    val equal = (for (l <- 1 to 3; r <- 1 to 2) yield l -> r) ++ Seq(4 -> 4, 4 -> 5)
    check("r.t BETWEEN l.t AND l.t", InnerAndFull)(equal: _*)
    check("r.t > l.t AND r.t < l.t + 2", InnerAndFull)(1 -> 3, 2 -> 3, 3 -> 3)
    check("r.t >= l.t AND l.t >= r.t AND l.t + 0 = r.t")(equal: _*)
  }

  test("an end is strict or inclusive as it is written") {
    // The left row is 0, the right rows have the ids 1 to 7.
    tables("k INT, t INT")("1, 0")((-3 to 3).map(t => s"1, $t"): _*)
    def rights(ids: Range) = ids.map(1 -> _)
    check("r.t >= l.t - 2 AND r.t <= l.t + 2")(rights(2 to 6): _*)
    check("r.t > l.t - 2 AND r.t <= l.t + 2")(rights(3 to 6): _*)
    check("l.t - 2 <= r.t AND l.t + 2 > r.t")(rights(2 to 5): _*)
    check("abs(l.t - r.t) < 2")(rights(3 to 5): _*)
    check("r.t - l.t > -2 AND r.t - l.t <= 1")(rights(3 to 5): _*)
    check("NOT (r.t < l.t - 1 OR r.t >= l.t + 3)")(rights(3 to 6): _*)
  }

  test("an interval is open or closed at each end") {
    table("l", "k INT, t INT, u INT")("1, 2, 4", "1, 3, 3")
    table("r", "k INT, t INT")((1 to 5).map(t => s"1, $t"): _*)
    for ((lower, upper) <- strictness) {
      val first =
        for (t <- 2 to 4 if !(lower == "<" && t == 2) && !(upper == "<" && t == 4)) yield 1 -> t
      val second = if (lower == "<=" && upper == "<=") Seq(2 -> 3) else Nil
      check(s"l.t $lower r.t AND r.t $upper l.u", InnerAndFull)(first ++ second: _*)
    }
    table("l", "k INT, t INT")((1 to 5).map(t => s"1, $t"): _*)
    table("r", "k INT, t INT, u INT")("1, 2, 4", "1, 3, 3")
    for ((lower, upper) <- strictness) {
      val first =
        for (t <- 2 to 4 if !(lower == "<" && t == 2) && !(upper == "<" && t == 4)) yield t -> 1
      val second = if (lower == "<=" && upper == "<=") Seq(3 -> 2) else Nil
      check(s"r.t $lower l.t AND l.t $upper r.u", InnerAndFull)(first ++ second: _*)
    }
  }

  test("intervals that touch overlap where the ends are inclusive") {
    table("l", "k INT, t INT, u INT")("1, 2, 4")
    table("r", "k INT, t INT, u INT")("1, 0, 2", "1, 4, 6", "1, 5, 6", "1, 3, 3", "1, 0, 1")
    check("l.t <= r.u AND r.t <= l.u", SomeTypes)(1 -> 1, 1 -> 2, 1 -> 4)
    check("l.t < r.u AND r.t <= l.u", InnerAndFull)(1 -> 2, 1 -> 4)
    check("l.t <= r.u AND r.t < l.u", InnerAndFull)(1 -> 1, 1 -> 4)
    check("l.t < r.u AND r.t < l.u", InnerAndFull)(1 -> 4)
  }

  test("intervals that overlap in one way or another, joined by OR, inverted ones too") {
    table("l", "k INT, t INT, u INT")("1, 2, 4", "1, 0, 9", "1, 4, 2", "1, 2, NULL")
    table(
      "r",
      "k INT, t INT, u INT")("1, 0, 2", "1, 4, 6", "1, 5, 6", "1, 3, 3", "1, 3, 1", "1, NULL, 3")
    check(
      "(l.t BETWEEN r.t AND r.u OR l.u BETWEEN r.t AND r.u OR l.t < r.t AND l.u > r.u)",
      SomeTypes)(idPairs("1: 1 2 4 5, 2: 1 2 3 4 5, 3: 1 2, 4: 1"): _*)
  }

  test("a range without an end is strict or inclusive") {
    tables("k INT, t INT")("1, 3")("1, 2", "1, 3", "1, 4")
    check("r.t >= l.t", InnerAndFull)(1 -> 2, 1 -> 3)
    check("r.t > l.t", InnerAndFull)(1 -> 3)
    check("r.t <= l.t", InnerAndFull)(1 -> 1, 1 -> 2)
    check("l.t > r.t", InnerAndFull)(1 -> 1)
  }

  test("two tests in the same direction are each strict or inclusive") {
    tables("k INT, t INT, u INT")("1, 3, 3")("1, 3, 3", "1, 4, 3", "1, 3, 4", "1, 4, 4", "1, 9, 2")
    check("l.t <= r.t AND l.u <= r.u", SomeTypes)(1 -> 1, 1 -> 2, 1 -> 3, 1 -> 4)
    check("l.t < r.t AND l.u <= r.u", InnerAndFull)(1 -> 2, 1 -> 4)
    check("l.t <= r.t AND l.u < r.u", InnerAndFull)(1 -> 3, 1 -> 4)
    check("r.t > l.t AND r.u > l.u", InnerAndFull)(1 -> 4)
    check("r.t <= l.t AND r.u <= l.u", InnerAndFull)(1 -> 1)
    check("r.t > l.t AND r.t >= l.u", InnerAndFull)(1 -> 2, 1 -> 4, 1 -> 5)
  }

  test("an inverted band matches nothing, for the rows for which it is inverted") {
    // Left rows are 0, 5 and 9; right rows have the ids 1 to 11.
    tables("k INT, t INT")("1, 0", "1, 5", "1, 9")((0 to 10).map(t => s"1, $t"): _*)
    check("r.t BETWEEN l.t + 2 AND l.t - 2", SomeTypes)()
    check("r.t BETWEEN l.t AND 10 - l.t")((1 to 11).map(1 -> _) :+ (2 -> 6): _*)
    check("r.t BETWEEN l.t AND 10 - l.t", SomeTypes)(
      (1 to 11).map(1 -> _) :+ (2 -> 6): _*)
    check("abs(l.t - r.t) <= -1", SomeTypes)()
    check("l.t - r.t BETWEEN 1 AND -1", InnerAndFull)()
  }

  test("inverted intervals on either side") {
    table("l", "k INT, t INT, u INT")("1, 9, 1", "1, 1, 9", "1, 5, 4")
    table("r", "k INT, t INT, u INT")("1, 5, 5", "1, 8, 2", "1, 4, 6")
    check("r.t BETWEEN l.t AND l.u", InnerAndFull)(2 -> 1, 2 -> 2, 2 -> 3)
    check("l.t BETWEEN r.t AND r.u", InnerAndFull)(3 -> 1, 3 -> 3)
    // An interval that is inverted may still pass both tests.
    check("l.t <= r.u AND r.t <= l.u", SomeTypes)(2 -> 1, 2 -> 2, 2 -> 3, 3 -> 3)
  }
}
