// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

/** Ranges of every type that Spark can order. */
class TypeSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, Keyless, PreservedLeft)

  override protected def hasFormsInTurn: Boolean = true

  /** One of both in turn, for types that are many. */
  private def either: Seq[String] = oneIn(2)(InnerAndFull)

  for ((columnType, Seq(a, b, c, d, e)) <- SampleTypes.All) {
    test(
      s"intervals and one-sided ranges of $columnType",
      slowButOneIn(8)(columnType): _*)(withTimeType {
      table("l", s"k INT, t $columnType, u $columnType")(
        s"1, $b, $d",
        s"1, $a, $a",
        s"1, $e, $c",
        s"1, NULL, $d",
        s"1, $d, $e",
        s"2, $a, $e")
      table("r", s"k INT, t $columnType")(
        s"1, $a",
        s"1, $b",
        s"1, $c",
        s"1, $d",
        s"1, $e",
        "1, NULL",
        s"3, $a")
      val within = Seq(1 -> 2, 1 -> 3, 1 -> 4, 2 -> 1, 5 -> 4, 5 -> 5)
      check("r.t BETWEEN l.t AND l.u", either)(within: _*)
      check("r.t > l.t AND r.t < l.u", either)(1 -> 3)
      check("l.t > r.t", oneIn(2)(Seq(Inner, LeftAnti)))(
        Seq(1 -> 1, 5 -> 1, 5 -> 2, 5 -> 3) ++ (1 to 4).map(3 -> _): _*)
      check("r.t >= l.u", either)(
        Seq(1 -> 4, 1 -> 5, 3 -> 3, 3 -> 4, 3 -> 5, 4 -> 4, 4 -> 5, 5 -> 5) ++
          (1 to 5).map(2 -> _): _*)
    })
  }

  test("intervals and one-sided ranges of BOOLEAN") {
    tables("k INT, t BOOLEAN, u BOOLEAN")("1, false, true", "1, true, false", "1, NULL, true")(
      "1, false, false",
      "1, true, true",
      "1, NULL, NULL")
    check("r.t BETWEEN l.t AND l.u", InnerAndFull)(1 -> 1, 1 -> 2)
    check("r.t < l.t", InnerAndFull)(2 -> 1)
    check("r.t >= l.u", InnerAndFull)(1 -> 2, 2 -> 1, 2 -> 2, 3 -> 2)
  }

  /**
   * A type with arithmetic: `%d` units as a value, and as a distance.
   *
   * @param difference whether a difference of two values is a range
   */
  private case class Measure(
      columnType: String,
      value: String = "%d",
      distance: String = "%d",
      difference: Boolean = true
  )

  private val measures = Seq(
    Measure("TINYINT"),
    Measure("SMALLINT"),
    Measure("INT"),
    Measure("BIGINT"),
    Measure("FLOAT"),
    Measure("DOUBLE"),
    Measure("DECIMAL(5, 2)", "%d.25", "%d.00"),
    Measure("DECIMAL(38, 2)", "%d.25", "%d.00", difference = false),
    Measure("DATE", "date_add(date '2024-02-20', %d)", "INTERVAL '%d' DAY"),
    Measure(
      "TIMESTAMP",
      "timestamp '2024-03-10 15:00:00' + INTERVAL '%d' HOUR",
      "INTERVAL '%d' HOUR"),
    Measure(
      "TIMESTAMP_NTZ",
      "timestamp_ntz '2024-03-09 15:00:00' + INTERVAL '%d' HOUR",
      "INTERVAL '%d' HOUR"),
    Measure(
      "TIME(6)",
      "time '10:00:00' + INTERVAL '%d' MINUTE",
      "INTERVAL '%d' MINUTE",
      difference = false),
    Measure("INTERVAL YEAR TO MONTH", "INTERVAL '%d' MONTH", "INTERVAL '%d' MONTH"),
    Measure("INTERVAL DAY TO SECOND", "INTERVAL '%d' SECOND", "INTERVAL '%d' SECOND")
  ).filter(measure => TypesOfLine.knows(measure.columnType))

  for (measure <- measures) {
    test(
      s"bands and differences of ${measure.columnType}",
      slowButOneIn(8)(s"bands ${measure.columnType}"): _*)(withTimeType {
      def rows(values: Int*) = values.map(n => s"1, ${measure.value.format(n)}")
      tables(s"k INT, t ${measure.columnType}")(rows(10, 12, 15) :+ "1, NULL": _*)(
        rows(8, 12, 14, 17, 18) :+ "1, NULL": _*)
      val two = measure.distance.format(2)
      val near = Seq(1 -> 1, 1 -> 2, 2 -> 2, 2 -> 3, 3 -> 3, 3 -> 4)
      check(s"r.t BETWEEN l.t - $two AND l.t + $two", either)(near: _*)
      check(s"l.t < r.t + $two AND r.t - $two < l.t", either)(2 -> 2, 3 -> 3)
      check(s"r.t > l.t + $two", Seq(RightOuter))(
        Seq(1 -> 3, 1 -> 4, 1 -> 5, 2 -> 4, 2 -> 5, 3 -> 5): _*)
      if (measure.difference) {
        check(s"abs(l.t - r.t) <= $two", either)(near: _*)
        check(s"r.t - l.t BETWEEN $two AND $two", either)(1 -> 2, 2 -> 3, 3 -> 4)
      }
    })
  }

  test("dates, timestamps and numbers of days are compared as Spark coerces them") {
    tables("k INT, t DATE")("1, '2024-03-10'", "1, '2024-03-11'")(
      "1, '2024-03-10'",
      "1, '2024-03-12'")
    checkRange("r.t BETWEEN l.t - INTERVAL '1' DAY AND date_add(l.t, 1)")
    checkRange("r.t >= l.t - INTERVAL '2' HOUR AND r.t <= l.t + INTERVAL '26' HOUR")
    checkRange("datediff(l.t, r.t) BETWEEN -1 AND 1")
    checkRange("abs(l.t - r.t) <= INTERVAL '1' DAY", FullOuter)
    tables("k INT, t SMALLINT")("1, 5", "1, 300")("1, 6", "1, 299")
    check("r.t BETWEEN l.t - 2L AND l.t + 2L", InnerAndFull)(1 -> 1, 2 -> 2)
    check("abs(l.t - r.t) <= 2L", InnerAndFull)(1 -> 1, 2 -> 2)
  }

  testOfCases("differences that are divided or rounded before they are compared", 9)(for {
    (joinType, i) <- Seq(Inner, LeftOuter, RightOuter, FullOuter, LeftSemi, LeftAnti).zipWithIndex
    (range, j) <- Seq(
      "timestampdiff(MINUTE, l.t, r.t) BETWEEN 0 AND 5",
      "abs(timestampdiff(HOUR, l.t, r.t)) <= 3",
      "timestampdiff(SECOND, l.t, r.t) <= 0",
      "months_between(r.t, l.t) BETWEEN 0 AND 1.1",
      "datediff(l.t, r.t) <= 0",
      "(unix_timestamp(r.t) - unix_timestamp(l.t)) / 60 BETWEEN 0 AND 5",
      "floor((l.n - r.n) / 60) = 0",
      "(l.n - r.n) DIV 60 = 0",
      "round((l.n - r.n) / 60) BETWEEN 0 AND 1",
      "CAST((l.n - r.n) / 60 AS INT) BETWEEN 0 AND 1",
      "ceil((l.n - r.n) / 60.0) BETWEEN 0 AND 1",
      "abs(l.n - r.n) / 60 <= 1"
    ).zipWithIndex
    // Two join types for each.
    if (i + j) % 3 == 0
  } yield (joinType, range)) { cases =>
    tables("k INT, t TIMESTAMP, n INT")(
      "1, '2024-11-03 00:00:00', 0",
      "1, '2024-11-03 03:30:00', 121",
      "1, NULL, NULL",
      "1, '2024-02-29 00:00:30', -60")(
      "1, '2024-11-03 00:05:59.999999', 60",
      "1, '2024-11-03 00:06:00', -59",
      "1, '2024-11-02 23:59:01', 1",
      "1, '2024-03-31 00:00:00', 119",
      "1, NULL, NULL")
    for ((joinType, range) <- cases) checkRange(range, joinType)
  }

  private val mixed = Seq(
    "INT" -> "BIGINT",
    "INT" -> "FLOAT",
    "INT" -> "DOUBLE",
    "BIGINT" -> "DOUBLE",
    "BIGINT" -> "FLOAT",
    "TINYINT" -> "DECIMAL(20, 3)",
    "DECIMAL(20, 3)" -> "DOUBLE",
    "DECIMAL(20, 3)" -> "BIGINT",
    "DATE" -> "TIMESTAMP",
    "TIMESTAMP" -> "TIMESTAMP_NTZ",
    "TIMESTAMP_NTZ" -> "DATE",
    "STRING" -> "DATE",
    "INT" -> "STRING"
  )

  testOfCases("the sides are of different types", 9)(
    for (types <- mixed; on <- Seq(true, false)) yield (types, on)) { cases =>
    val values = Map(
      "INT" -> Seq("3", "16777217", "-5"),
      "TINYINT" -> Seq("3", "4", "-5"),
      "BIGINT" -> Seq("3", "9007199254740993", "-5"),
      "FLOAT" -> Seq("3.1", "16777216", "NaN"),
      "DOUBLE" -> Seq("3.1", "9007199254740992", "-5.0", "NaN", "Infinity"),
      "DECIMAL(20, 3)" -> Seq("3.100", "9007199254740993", "-5.000"),
      "DATE" -> Seq("2024-03-10", "2024-03-11"),
      "TIMESTAMP" -> Seq("2024-03-10 00:00:00", "2024-03-10 03:00:00", "2024-03-11 00:00:01"),
      "TIMESTAMP_NTZ" -> Seq("2024-03-10 00:00:00", "2024-03-10 02:30:00"),
      "STRING" -> Seq("3", "-5", "2024-03-10", "x", "")
    )
    for (((left, right), on) <- cases) ansi(on) {
      table("l", s"k INT, t $left")(values(left).map(v => s"1, '$v'"): _*)
      table("r", s"k INT, t $right")(values(right).map(v => s"1, '$v'"): _*)
      for (range <- oneIn(2)(Seq("r.t BETWEEN l.t AND l.t", "r.t >= l.t"))) {
        val condition = s"l.k = r.k AND $range"
        checkUnlessStockRaises(joinOn(FullOuter, condition), oneOf(s"$left $right $on $range"))
      }
      if (left == "INT" || left == "BIGINT" || left.startsWith("DEC")) {
        val band = "l.k = r.k AND r.t BETWEEN l.t - 1 AND l.t + 1"
        checkUnlessStockRaises(joinOn(Inner, band), oneOf(s"$left $right $on"))
      }
    }
  }
}
