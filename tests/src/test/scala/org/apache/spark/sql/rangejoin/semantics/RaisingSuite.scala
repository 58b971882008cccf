// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import scala.util.Try

import org.apache.spark.sql.rangejoin.PlanForm

/** An expression that raises is evaluated for no pair for which stock does not evaluate it. */
class RaisingSuite extends SemanticsTest {
  import PlanForm._
  import RaisingSuite._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] =
    Seq(Merged, Broadcast, Keyless, PreservedRight, Shuffled)

  private def withCareful(test: => Unit): Unit = {
    spark.udf.register("careful", careful _)
    ansi(on = true)(test)
  }

  test("a bound that raises is asked for pairs of the key only, and loses none") {
    tables("k INT, t INT")("1, 5", "1, 6", "2, 0")("1, 5", "1, 7", "3, 2")
    ansi(on = true) {
      // The row (2, 0) would divide by zero, and has no partner.
      check("r.t >= 25 div l.t AND r.t <= l.t + 1")(1 -> 1, 2 -> 1, 2 -> 2)
      check("r.t >= 25 div l.t AND r.t <= l.t + 1", SomeTypes)(1 -> 1, 2 -> 1, 2 -> 2)
      check("r.t >= l.t - 1 AND r.t <= l.t + 1 AND 10 div r.t > 1")(1 -> 1, 2 -> 1)
      val raising = joinOn(Inner, "l.k = r.k AND r.t >= 25 div (l.t - 5) AND r.t <= l.t + 1")
      assert(Try(raising.collect()).isFailure)
      assert(Try(withConf(Flag -> "false")(raising.collect())).isFailure)
    }
  }

  test("a division by zero on either side of either test") {
    tables("k INT, t INT")("1, 5", "1, 6", "2, 0", "NULL, 0")("1, 5", "1, 7", "3, 0", "NULL, 0")
    ansi(on = true) {
      check("r.t <= 25 div l.t + 1 AND r.t >= l.t", SomeTypes)(1 -> 1)
      check("25 div r.t <= l.t AND r.t <= l.t + 1", SomeTypes)(1 -> 1, 2 -> 1, 2 -> 2)
      check("25 div r.t >= l.t - 1", SomeTypes)(1 -> 1, 2 -> 1)
      check("r.t >= 10 div l.t", InnerAndFull)(1 -> 1, 1 -> 2, 2 -> 1, 2 -> 2)
    }
  }

  test("a cast that raises, of a row without a partner") {
    table("l", "k INT, s STRING")("1, '5'", "2, 'x'", "NULL, 'x'", "1, '9'")
    table("r", "k INT, t INT")("1, 6", "3, 5", "1, 4")
    ansi(on = true) {
      check("r.t BETWEEN cast(l.s AS INT) - 1 AND cast(l.s AS INT) + 1", SomeTypes)(1 -> 1, 1 -> 3)
      check("r.t >= cast(l.s AS INT)", SomeTypes)(1 -> 1)
      check("abs(cast(l.s AS INT) - r.t) < 2", InnerAndFull)(1 -> 1, 1 -> 3)
    }
    ansi(on = false) {
      check("r.t BETWEEN cast(l.s AS INT) - 1 AND cast(l.s AS INT) + 1", InnerAndFull)(
        1 -> 1,
        1 -> 3)
    }
  }

  test("a bound that raises is not asked for pairs that a conjunct before it refuses") {
    table("l", "k INT, s STRING, v INT")("1, '5', 1", "1, 'x', 2", "1, '9', 1", "2, 'x', 2")
    table("r", "k INT, t INT, v INT")("1, 6, 1", "1, 5, 1", "2, 7, 1")
    ansi(on = true) {
      val (lower, upper) = ("r.t >= cast(l.s AS INT)", "r.t <= cast(l.s AS INT) + 1")
      val cases = for {
        joinType <- JoinTypes
        condition <- Seq(
          s"l.v + 0 = r.v AND $lower AND $upper",
          s"r.t <= 3 * l.v AND $lower AND r.v <= l.v",
          s"l.v <= r.v AND $lower AND $upper",
          s"r.t > 6 * l.v AND $upper",
          s"$lower AND l.v = r.v + 0 AND $upper"
        )
      } yield (joinType, s"l.k = r.k AND $condition")
      for ((joinType, on) <- oneIn(3)(cases))
        checkUnlessStockRaises(joinOn(joinType, on), oneOf(on + joinType))
      check(s"l.v + 0 = r.v AND $lower AND $upper", InnerAndFull)(1 -> 1, 1 -> 2)
    }
  }

  test("a function that raises for some rows, which stock never pairs, as a bound") {
    tables("k INT, t INT")("1, 5", "2, -5", "NULL, -7", "1, 9")("1, 6", "3, -5", "1, 9", "NULL, 5")
    withCareful {
      check("r.t BETWEEN careful(l.t) AND careful(l.t) + 1", SomeTypes)(1 -> 1, 4 -> 3)
      check("careful(r.t) >= l.t AND careful(r.t) <= l.t + 1", SomeTypes)(1 -> 1, 4 -> 3)
      check("careful(r.t) > careful(l.t)", SomeTypes)(1 -> 1, 1 -> 3)
    }
  }

  test("a residual that raises beside the range is asked within the range only") {
    tables("k INT, t INT")("1, 5", "1, 9", "1, 7")("1, 6", "1, 1", "1, 9", "1, 30")
    withCareful {
      // Negative beyond the range.
      check("r.t >= l.t AND r.t <= l.t + 3 AND careful(r.t - l.t) < 3", SomeTypes)(
        1 -> 1,
        2 -> 3,
        3 -> 3)
      check("r.t >= l.t AND careful(r.t - l.t) < 3", SomeTypes)(1 -> 1, 2 -> 3, 3 -> 3)
      // Stock asks it first, and raises.
      val first = "l.k = r.k AND careful(r.t - l.t) < 3 AND r.t >= l.t AND r.t <= l.t + 3"
      for (joinType <- JoinTypes) {
        assert(checkUnlessStockRaises(joinOn(joinType, first), oneOf(joinType)).isEmpty)
      }
    }
  }

  test("a bound that raises for a pair that stock asks about raises here, or gives rows") {
    tables("k INT, t INT")("1, 5", "1, -5", "2, 9")("1, 6", "1, -5", "2, 9")
    withCareful {
      val cases = for {
        range <- Seq(
          "r.t BETWEEN careful(l.t) AND careful(l.t) + 1",
          "careful(r.t) >= l.t",
          "careful(r.t) >= l.t AND careful(r.t) <= l.t + 2"
        )
        joinType <- JoinTypes
      } yield (joinType, s"l.k = r.k AND $range")
      for ((joinType, on) <- oneIn(2)(cases)) {
        // A semi join may find its match before.
        val found = checkUnlessStockRaises(joinOn(joinType, on), oneOf(on + joinType))
        assert(found.isEmpty || joinType != Inner)
      }
    }
  }
}

object RaisingSuite {
  private def careful(t: Int): Int =
    if (t < 0) throw new IllegalArgumentException(s"$t is negative") else t
}
