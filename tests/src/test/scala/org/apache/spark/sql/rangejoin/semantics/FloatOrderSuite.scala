// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm

/**
 * Floating point is in the order of Spark: NaN equals NaN and is greater than anything else, and
 * the two zeros are equal.
 */
class FloatOrderSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, PreservedLeft)

  private val values =
    Seq("'NaN'", "'-Infinity'", "'Infinity'", "'-0.0'", "'0.0'", "'1.0'", "NULL").map("1, " + _)

  // Positions of the values above.
  private val (nan, least, greatest, minusZero, zero, one) = (1, 2, 3, 4, 5, 6)
  private val zeros = for (a <- Seq(minusZero, zero); b <- Seq(minusZero, zero)) yield a -> b
  private val finite = for (a <- Seq(4, 5, 6); b <- Seq(4, 5, 6)) yield a -> b
  private val ordered = Seq(Seq(least), Seq(minusZero, zero), Seq(one), Seq(greatest), Seq(nan))

  /** Pairs of which the right value comes after the left one. */
  private val after = for {
    (lesser, i) <- ordered.zipWithIndex
    greater <- ordered.drop(i + 1)
    a <- lesser
    b <- greater
  } yield a -> b
  private val same = Seq(nan -> nan, least -> least, greatest -> greatest, one -> one) ++ zeros

  for (columnType <- Seq("FLOAT", "DOUBLE")) {
    test(s"a value of $columnType is between itself and itself, whatever it is") {
      tables(s"k INT, t $columnType")(values: _*)(values: _*)
      check("r.t BETWEEN l.t AND l.t", SomeTypes)(same: _*)
      check("r.t >= l.t AND r.t < l.t", InnerAndFull)()
    }

    test(s"a band around a $columnType reaches NaN and infinity from themselves only") {
      tables(s"k INT, t $columnType")(values: _*)(values: _*)
      val pairs = finite ++ Seq(nan -> nan, least -> least, greatest -> greatest)
      check("r.t BETWEEN l.t - 1 AND l.t + 1", SomeTypes)(pairs: _*)
      check("l.t BETWEEN r.t - 1 AND r.t + 1", InnerAndFull)(pairs: _*)
      for (on <- Seq(true, false)) ansi(on) {
        check("r.t > l.t - 1 AND r.t < l.t + 1", InnerAndFull)(
          zeros :+ (one -> one): _*)
      }
    }

    test(s"a difference of $columnType reaches neither NaN nor infinity") {
      tables(s"k INT, t $columnType")(values: _*)(values: _*)
      check("abs(l.t - r.t) <= 1", SomeTypes)(finite: _*)
      check("l.t - r.t BETWEEN -1 AND 1", InnerAndFull)(finite: _*)
      check("abs(l.t - r.t) < 1", InnerAndFull)(zeros :+ (one -> one): _*)
    }

    test(s"a range of $columnType without an end reaches what comes after in Spark's order") {
      tables(s"k INT, t $columnType")(values: _*)(values: _*)
      check("r.t > l.t", SomeTypes)(after: _*)
      check("r.t >= l.t", InnerAndFull)(after ++ same: _*)
      check("l.t < r.t AND l.t <= r.t + 1", InnerAndFull)(after: _*)
    }

    test(s"intervals of $columnType may end at infinity or at NaN") {
      table("l", s"k INT, t $columnType, u $columnType")(
        "1, '0.5', 'Infinity'",
        "1, '0.5', 'NaN'",
        "1, 'NaN', 'NaN'",
        "1, '-Infinity', '-0.0'",
        "1, 'NaN', 'Infinity'",
        "1, NULL, 'NaN'"
      )
      table("r", s"k INT, t $columnType")(values: _*)
      check("r.t BETWEEN l.t AND l.u", SomeTypes)(
        1 -> one,
        1 -> greatest,
        2 -> one,
        2 -> greatest,
        2 -> nan,
        3 -> nan,
        4 -> least,
        4 -> minusZero,
        4 -> zero
      )
      check("r.t > l.t AND r.t < l.u", InnerAndFull)(1 -> one, 2 -> one, 2 -> greatest)
    }

    test(s"keys of $columnType: NaN meets NaN and a zero meets the other") {
      tables(s"k $columnType, t INT")("'NaN', 5", "'-0.0', 5", "'Infinity', 5", "NULL, 5")(
        "'NaN', 4",
        "'0.0', 6",
        "'-Infinity', 5",
        "'0.0', 9",
        "'NaN', 9")
      check("r.t BETWEEN l.t - 1 AND l.t + 1", SomeTypes)(1 -> 1, 2 -> 2)
    }
  }

  test("FLOAT and DOUBLE are compared as Spark coerces them") {
    table("l", "k INT, t FLOAT")("1, '0.1'", "1, 'NaN'", "1, '-0.0'", "1, '16777216'")
    table("r", "k INT, t DOUBLE")("1, '0.1'", "1, 'NaN'", "1, '0.0'", "1, '16777217'")
    // 0.1 as FLOAT is greater than as DOUBLE.
    check("r.t BETWEEN l.t AND l.t", InnerAndFull)(2 -> 2, 3 -> 3)
    check("r.t BETWEEN l.t - 1e-6D AND l.t", InnerAndFull)(1 -> 1, 2 -> 2, 3 -> 3)
    for (on <- Seq(true, false)) ansi(on) {
      checkRange("r.t BETWEEN l.t - 1 AND l.t + 1")
      checkRange("abs(l.t - r.t) <= 1", FullOuter)
    }
  }
}
