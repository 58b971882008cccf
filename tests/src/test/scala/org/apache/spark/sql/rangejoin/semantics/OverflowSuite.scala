// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import scala.util.Try

import org.apache.spark.sql.rangejoin.{PlanForm, RangeJoinTest}

/**
 * Arithmetic at the ends of a type, ANSI on and off: what wraps around, gives NULL or raises in
 * stock does not lose a match here, and nothing raises that does not in stock.
 */
class OverflowSuite extends SemanticsTest {
  import OverflowSuite._
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, Keyless, PreservedLeft)

  override protected def hasFormsInTurn: Boolean = true

  /** With their places: all, or every second one where the test has another form as well. */
  private def some(distances: Seq[String]): Seq[(String, Int)] =
    if (form == forms.head) distances.zipWithIndex else oneIn(2)(distances.zipWithIndex)

  for (extremes <- AllExtremes) {
    import extremes.{columnType, least, greatest, value}

    val ends = Seq(
      least,
      least + 1,
      least + 2,
      BigInt(-1),
      BigInt(0),
      BigInt(1),
      greatest - 2,
      greatest - 1,
      greatest)

    // Types are alike.
    def slow(test: String) = slowButOneIn(7)(s"$test $columnType")

    test(
      s"the extremes of $columnType join with themselves and with what is beyond them",
      slow("extremes"): _*) {
      val rows = ends.map(n => s"1, ${value(n)}")
      tables(s"k INT, y $columnType")(rows: _*)(rows.reverse: _*)
      val same = (1 to 9).map(i => i -> (10 - i))
      val notBefore = for (i <- 1 to 9; j <- i to 9) yield i -> (10 - j)
      check("r.y BETWEEN l.y AND l.y", oneIn(2)(InnerAndFull))(same: _*)
      check("r.y >= l.y AND l.y >= r.y AND NOT l.y <> r.y", oneIn(2)(InnerAndFull))(same: _*)
      check("r.y >= l.y", oneIn(2)(InnerAndFull))(notBefore: _*)
      check("r.y < l.y", oneIn(2)(InnerAndFull))(
        (for (i <- 1 to 9; j <- 1 until i) yield i -> (10 - j)): _*)
    }

    for (on <- Seq(true, false)) {
      test(
        s"arithmetic beyond the ends of $columnType, ANSI ${if (on) "on" else "off"}",
        slow(s"arithmetic $on"): _*) {
        val rows = ends.map(n => s"1, ${value(n)}")
        tables(s"k INT, y $columnType")(rows: _*)(rows: _*)
        ansi(on) {
          val outcomes = for ((form, i) <- some(extremes.forms)) yield {
            val joinType = JoinTypes(i % 4)
            val condition = s"l.k = r.k AND $form"
            checkUnlessStockRaises(
              joinOn(joinType, condition),
              oneOf(condition),
              planned = extremes.isRange(form, on))
          }
          // A timestamp raises in either mode.
          assert(outcomes.exists(_.exists(_.nonEmpty)) || on || columnType == "TIMESTAMP")
        }
      }
    }

    test(
      s"a row beyond the ends of $columnType that has no partner does not raise",
      slow("row"): _*) {
      table("l", s"k INT, y $columnType")(
        s"1, ${value(greatest)}",
        s"2, ${value(least)}",
        s"3, ${value(5)}",
        s"NULL, ${value(greatest)}",
        "6, NULL")
      table("r", s"k INT, y $columnType")(
        s"3, ${value(6)}",
        s"4, ${value(greatest)}",
        s"5, ${value(least)}",
        s"NULL, ${value(least)}")
      ansi(on = true) {
        for ((form, i) <- some(extremes.forms) if extremes.isRange(form, ansi = true)) {
          check(form, Seq(JoinTypes(i % JoinTypes.size)))(3 -> 1)
        }
      }
    }

    test(
      s"a partner of $columnType that is NULL, or was refused before, does not raise",
      slow("partner"): _*) {
      table("l", s"k INT, y $columnType, v INT")(
        s"1, ${value(greatest)}, 1",
        s"1, ${value(least)}, 1",
        s"1, ${value(5)}, 2")
      table("r", s"k INT, y $columnType, v INT")("1, NULL, 1", s"1, ${value(6)}, 2")
      ansi(on = true) {
        for ((form, i) <- some(extremes.forms) if extremes.isRange(form, ansi = true)) {
          val joinType = JoinTypes(i % JoinTypes.size)
          val condition = s"l.k = r.k AND l.v = r.v + 0 AND $form"
          checkUnlessStockRaises(joinOn(joinType, condition), oneOf(form))
        }
      }
    }
  }

  for (columnType <- Seq("TINYINT", "SMALLINT")) {
    test(s"arithmetic that is wider than $columnType does not overflow") {
      val extremes = only(AllExtremes.filter(_.columnType == columnType))
      import extremes.{greatest, least}
      val values = Seq(least, least + 1, least + 2, BigInt(-1), BigInt(0), greatest - 1, greatest)
      val rows = values.map(n => s"1, '$n'")
      tables(s"k INT, y $columnType")(rows: _*)(rows: _*)
      val near = Seq(1 -> 1, 1 -> 2, 1 -> 3, 2 -> 1, 2 -> 2, 2 -> 3, 3 -> 1, 3 -> 2, 3 -> 3) ++
        Seq(4 -> 4, 4 -> 5, 5 -> 4, 5 -> 5, 6 -> 6, 6 -> 7, 7 -> 6, 7 -> 7)
      for (on <- Seq(true, false)) ansi(on) {
        check("r.y BETWEEN l.y - 2 AND l.y + 2", InnerAndFull)(near: _*)
        check("r.y >= l.y - 2 AND l.y >= r.y - 2", InnerAndFull)(near: _*)
      }
      ansi(on = false) {
        checkRange("l.y - r.y BETWEEN -2 AND 2", FullOuter)
        checkRange("abs(l.y - r.y) <= 2", LeftOuter)
        checkRange("abs(l.y - r.y) < 2 AND l.y <> r.y", LeftAnti)
        checkRange("l.y - r.y > -3 AND l.y - r.y < 1")
      }
    }
  }

  test("overflow under ANSI raises for pairs within the range") {
    val least = Long.MinValue
    ansi(on = true) {
      tables("k INT, y BIGINT")(s"1, '$least'", "2, '5'")(s"1, '${least + 1}'", "2, '9'")
      for (settings <- bothEngines :+ RangeJoinTest.Oracle) {
        withConf(settings: _*) {
          val condition = "l.k = r.k AND r.y >= l.y - 2 AND r.y <= l.y + 2"
          for (joinType <- InnerAndFull) {
            val raised = Try(joinOn(joinType, condition).collect().toSeq)
            assert(
              raised.failed.toOption.exists(_.getMessage.contains("ARITHMETIC_OVERFLOW")),
              s"$raised under $settings")
          }
        }
      }
    }
  }

  test("one limit of a difference beside another test is asked again where it overflows") {
    table("l", "k INT, y TINYINT, z TINYINT")("1, 100, 100", "1, -100, 100", "1, 5, 7")
    table("r", "k INT, y TINYINT")("1, -100", "1, 100", "1, 6")
    ansi(on = false) {
      checkRange("r.y >= -l.y AND l.y - r.y >= -2Y AND l.y - r.y <= 2Y")
      checkRange("r.y >= -l.y AND l.y - r.y >= -2Y AND l.y - r.y <= 2Y", FullOuter)
    }
    for (mode <- Seq(true, false); joinType <- InnerAndFull) ansi(mode) {
      checkRange("try_subtract(l.y, r.y) <= 2Y AND r.y <= l.z", joinType)
      checkRange("try_subtract(l.y, r.y) BETWEEN -2Y AND 2Y", joinType)
    }
  }

  test("a difference that is in its width, where the ends of its range are not") {
    tables("k STRING, y BIGINT, z BIGINT, s STRING")(
      "'a', -9223372036854775808, 10, 's1'",
      "'b', 9223372036854775805, 10, 's1'")(
      "'a', -9223372036854775805, -9223372036854775807, 's8'",
      "'b', 9223372036854775804, 5, 's8'")
    ansi(on = false) {
      checkOn(
        "(l.s <> r.s AND (NOT ((r.y - l.y) >= 4L) AND r.k = l.k)) AND (-5L <= (r.y - l.y) AND l.y <> r.z)",
        JoinTypes)(1 -> 1, 2 -> 2)
    }
  }

}

object OverflowSuite {

  /**
   * The ends of a type, as numbers of its unit.
   *
   * @param two a distance of two units, as SQL
   * @param of a value, as SQL
   */
  case class Extremes(
      columnType: String,
      least: BigInt,
      greatest: BigInt,
      two: String,
      literal: String = "'%s'"
  ) {
    def value(n: BigInt): String = literal.format(n)

    /** A distance of at most two, or so. */
    val forms: Seq[String] = Seq(
      "r.y BETWEEN l.y - TWO AND l.y + TWO",
      "r.y <= l.y + TWO",
      "l.y BETWEEN r.y - TWO AND r.y + TWO",
      "l.y - r.y BETWEEN -TWO AND TWO",
      "abs(l.y - r.y) <= TWO",
      "r.y >= l.y AND r.y <= l.y + TWO",
      "r.y > l.y - TWO",
      "abs(l.y - r.y) < TWO AND l.y <> r.y",
      "l.y - r.y > -TWO AND l.y - r.y < TWO",
      "r.y + TWO > l.y AND l.y + TWO > r.y",
      "r.y - l.y <= TWO"
    ).map(_.replace("TWO", two))

    def isDecimal: Boolean = columnType.startsWith("DECIMAL")

    /**
     * Differences of large decimals are no range. One limit of a difference that wraps around is
     * none either; nor is that of an existence join, which Spark takes apart.
     */
    def isRange(form: String, ansi: Boolean): Boolean =
      !form.contains(" - r.y") && !form.contains("r.y - l.y") ||
        !isDecimal && (ansi || !form.endsWith(s"r.y - l.y <= $two"))
  }

  private def integral(columnType: String, bits: Int, two: String) =
    Extremes(columnType, -BigInt(2).pow(bits - 1), BigInt(2).pow(bits - 1) - 1, two)

  val AllExtremes: Seq[Extremes] = {
    val (int, long) = (integral("INT", 32, "2"), integral("BIGINT", 64, "2L"))
    val digits = BigInt(10).pow(38) - 1
    Seq(
      integral("TINYINT", 8, "2Y"),
      integral("SMALLINT", 16, "2S"),
      int,
      long,
      Extremes("DECIMAL(38, 0)", -digits, digits, "2"),
      int.copy(
        columnType = "DATE",
        two = "INTERVAL '2' DAY",
        literal = "date_from_unix_date(cast('%s' AS INT))"),
      long.copy(
        columnType = "TIMESTAMP",
        two = "INTERVAL '0.000002' SECOND",
        literal = "timestamp_micros(cast('%s' AS BIGINT))")
    )
  }
}
