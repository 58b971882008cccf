// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

import org.scalatest.tagobjects.Slow

/** Strings are in the order of their collation, binary in that of unsigned bytes. */
class StringSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, PreservedLeft, Shuffled)

  /** Pairs of positions for which a comparison of the values holds. */
  private def pairsOf[T](left: Seq[T], right: Seq[T])(holds: (T, T) => Boolean): Seq[(Int, Int)] =
    for ((a, i) <- left.zipWithIndex; (b, j) <- right.zipWithIndex if holds(a, b))
      yield (i + 1) -> (j + 1)

  private def ofOneKey(values: Seq[String]) = values.map(v => s"1, '$v'")

  test("strings that differ behind a long common prefix", Slow) {
    val prefix = "customer/0000/"
    val left = Seq("", "a", "b", "aa", "b0").map(prefix + _)
    val right = Seq("", "0", "a", "aaa", "b0", "c").map(prefix + _) :+ "customer" :+ "z"
    tables("k INT, t STRING")(ofOneKey(left): _*)(ofOneKey(right): _*)
    check("r.t >= l.t", SomeTypes)(pairsOf(left, right)(_ <= _): _*)
    check("r.t < l.t", InnerAndFull)(pairsOf(left, right)(_ > _): _*)
    check("r.t BETWEEN l.t AND concat(l.t, 'z')", SomeTypes)(
      pairsOf(left, right)((a, b) => a <= b && b <= a + "z"): _*)
    check("l.t LIKE 'customer%' AND l.t > r.t AND l.t < concat(r.t, 'c')", InnerAndFull)(
      pairsOf(left, right)((a, b) => a > b && a < b + "c"): _*)
  }

  test("an empty string is before all others, and a prefix is before what it begins") {
    val values = Seq("", " ", "12345678", "123456789", "1234567")
    tables("k INT, t STRING")(ofOneKey(values): _*)(ofOneKey(values): _*)
    check("r.t BETWEEN l.t AND l.t", InnerAndFull)((1 to 5).map(i => i -> i): _*)
    check("r.t > l.t", SomeTypes)(pairsOf(values, values)(_ < _): _*)
    check("r.t BETWEEN '' AND l.t AND r.t >= l.t", Seq(Inner))((1 to 5).map(i => i -> i): _*)
  }

  test("a zero byte is not the end of a string") {
    val rising = Seq("X'61'", "X'6100'", "X'610000'", "X'610001'", "X'6101'")
    for (columnType <- Seq("STRING", "BINARY")) {
      tables(s"k INT, t $columnType")(rising.map("1, " + _): _*)(rising.map("1, " + _): _*)
      val positions = rising.indices
      check("r.t > l.t", SomeTypes)(pairsOf(positions, positions)(_ < _): _*)
      check("r.t BETWEEN l.t AND l.t", InnerAndFull)((1 to 5).map(i => i -> i): _*)
    }
  }

  test("bytes above 0x7F come after those below") {
    val words = ofOneKey(Seq("z", "ä", "é", "語", "😀", "~", "zä"))
    tables("k INT, t STRING")(words: _*)(words: _*)
    // The order of UTF-8 is that of code points: z, zä, ~, ä, é, 語, 😀.
    val order = Seq(1, 7, 6, 2, 3, 4, 5)
    check("r.t > l.t", SomeTypes)(
      (for (i <- order.indices; j <- i + 1 until order.size) yield order(i) -> order(j)): _*)
    check("r.t BETWEEN l.t AND 'é'", InnerAndFull)(
      (for (i <- 0 to 4; j <- i to 4) yield order(i) -> order(j)): _*)
    val bytes = Seq("X'FF'", "X'7F'", "X'80'", "X''", "X'00'", "X'FFFFFFFFFFFFFFFFFF'")
    val unsigned = Seq(4, 5, 2, 3, 1, 6)
    tables("k INT, t BINARY")(bytes.map("1, " + _): _*)(bytes.map("1, " + _): _*)
    check("r.t > l.t", SomeTypes)(
      (for (i <- 0 to 5; j <- i + 1 to 5) yield unsigned(i) -> unsigned(j)): _*)
    check("r.t BETWEEN l.t AND X'80'", InnerAndFull)(
      (for (i <- 0 to 3; j <- i to 3) yield unsigned(i) -> unsigned(j)): _*)
  }

  test("bytes that are no UTF-8") {
    val rows = Seq("X'FF'", "X'C3'", "X'C328'", "X'61'", "X'E8AA'").map("1, " + _)
    tables("k INT, t STRING")(rows: _*)(rows: _*)
    checkRange("r.t >= l.t", FullOuter)
    checkRange("r.t BETWEEN l.t AND concat(l.t, l.t)", FullOuter)
  }

  testOfCollations("a range of strings without case") {
    tables("k INT, t STRING COLLATE UTF8_LCASE")("1, 'B'", "1, 'a'", "1, 'ab'")(
      "1, 'b'",
      "1, 'A'",
      "1, 'AB'",
      "1, 'C'")
    check("r.t BETWEEN l.t AND l.t", SomeTypes)(1 -> 1, 2 -> 2, 3 -> 3)
    check("r.t > l.t", SomeTypes)(1 -> 4, 2 -> 1, 2 -> 3, 2 -> 4, 3 -> 1, 3 -> 4)
    // Not BETWEEN, in which 4.0 does not know the collation of a literal.
    check("r.t >= l.t AND r.t <= 'B'", InnerAndFull)(1 -> 1, 2 -> 1, 2 -> 2, 2 -> 3, 3 -> 1, 3 -> 3)
  }

  private def testOfCollations(name: String)(body: => Unit): Unit =
    testWhere(TypesOfLine.hasCollations)(name)(body)

  private val collations =
    Seq("UTF8_LCASE", "UNICODE", "UNICODE_CI", "UNICODE_AI", "UTF8_BINARY_RTRIM")

  for (collation <- collations) {
    testOfCollations(s"ranges and keys of the collation $collation") {
      val words = ofOneKey(Seq("a", "A", "ä", "Ä", "b", "B", "", "ab", "aB ", "a ", "ß", "ss", "語"))
      tables(s"k INT, t STRING COLLATE $collation")(words: _*)(words.reverse: _*)
      assert(checkRange("r.t BETWEEN l.t AND l.t", FullOuter) >= 13)
      checkRange("r.t BETWEEN l.t AND concat(l.t, 'b')", LeftOuter)
      checkRange("r.t > l.t")
      checkRange("r.t < l.t", LeftAnti)
      val keyed = words.zipWithIndex.map { case (row, i) => s"$row, $i" }
      tables(s"j INT, k STRING COLLATE $collation, t INT")(keyed: _*)(keyed: _*)
      assert(checkRange("r.t BETWEEN l.t - 9 AND l.t", FullOuter) >= 13)
      checkRange("r.t >= l.t", LeftSemi)
      checkRange("r.j = l.j AND r.k >= l.k AND r.t > l.t", Existence)
    }
  }

  testOfCollations("a key and a range of different collations") {
    tables("k STRING COLLATE UNICODE_CI, t STRING COLLATE UTF8_LCASE, u STRING")(
      "'X', 'a', 'B'",
      "'x', 'B', 'a'",
      "'Y', 'a', 'a'")("'x', 'A', 'a'", "'X', 'b', 'A'", "'y', 'c', 'b'", "'z', 'a', 'a'")
    check("r.t BETWEEN l.t AND l.t", SomeTypes)(1 -> 1, 2 -> 2)
    // B is before a.
    check("r.u >= l.u", SomeTypes)(1 -> 1, 2 -> 1, 3 -> 3)
    check("r.t >= l.t AND r.u <= l.u", InnerAndFull)(1 -> 2, 2 -> 2)
  }
}
