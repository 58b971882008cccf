// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.PlanForm
import org.apache.spark.sql.rangejoin.RangeJoinTest.Engines

/** NULL in a key, a bound or a range column matches nothing; a row with it is not lost. */
class NullSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] =
    Seq(Merged, Broadcast, Keyless, PreservedLeft, Shuffled)

  test("NULL in a key, a range column or a bound matches nothing") {
    tables("k INT, t INT")("1, 5", "1, NULL", "NULL, 5", "2, 5")(
      "1, 4",
      "1, NULL",
      "NULL, 5",
      "2, 9")
    check("r.t BETWEEN l.t - 2 AND l.t + 2")(1 -> 1)
    check("r.t >= l.t - 2 AND r.t <= if(l.k = 1, NULL, l.t + 9)")(4 -> 4)
  }

  test("a row with NULL is emitted by the join types that emit rows without match") {
    tables("k INT, t INT")("1, 5", "1, NULL", "NULL, 5", "NULL, NULL", "2, 5")(
      "1, 4",
      "1, NULL",
      "NULL, 5",
      "NULL, NULL",
      "3, 5")
    check("r.t BETWEEN l.t - 2 AND l.t + 2", JoinTypes)(1 -> 1)
  }

  test("NULL at an end of an interval leaves it without points") {
    table("l", "k INT, t INT, u INT")("1, 1, 9", "1, NULL, 9", "1, 1, NULL", "1, NULL, NULL")
    table("r", "k INT, t INT")("1, 5", "1, NULL")
    check("r.t BETWEEN l.t AND l.u", JoinTypes)(1 -> 1)
    table("l", "k INT, t INT")("1, 5", "1, NULL")
    table("r", "k INT, t INT, u INT")("1, 1, 9", "1, NULL, 9", "1, 1, NULL", "1, NULL, NULL")
    check("l.t BETWEEN r.t AND r.u", SomeTypes)(1 -> 1)
  }

  test("NULL at an end of an interval leaves it without overlaps") {
    val intervals = Seq("1, 1, 9", "1, NULL, 9", "1, 1, NULL", "2, NULL, NULL")
    tables("k INT, t INT, u INT")(intervals: _*)(intervals: _*)
    check("l.t <= r.u AND r.t <= l.u", SomeTypes)(1 -> 1)
  }

  test("NULL is on neither side of a range without an end") {
    tables("k INT, t INT")("1, NULL", "1, 5", "2, NULL")("1, 5", "1, NULL", "2, 1", "1, 4")
    check("r.t >= l.t", JoinTypes)(2 -> 1)
    check("r.t <= l.t", InnerAndFull)(2 -> 1, 2 -> 4)
  }

  test("NULL in one of two tests in the same direction matches nothing") {
    table("l", "k INT, t INT, u INT")("1, 1, 2", "1, NULL, 2", "1, 1, NULL")
    table("r", "k INT, t INT, u INT")("1, 3, 3", "1, NULL, 3", "1, 3, NULL")
    check("l.t <= r.t AND l.u <= r.u", SomeTypes)(1 -> 1)
  }

  test("NULL as tolerance, as distance and from an expression matches nothing") {
    table("l", "k INT, t INT, d INT")("1, 5, 2", "1, 5, NULL")
    table("r", "k INT, t INT")("1, 4", "1, NULL")
    check("r.t BETWEEN l.t - l.d AND l.t + l.d", InnerAndFull)(1 -> 1)
    check("abs(l.t - r.t) <= l.d", InnerAndFull)(1 -> 1)
    check("r.t BETWEEN l.t - nullif(l.id, 1) AND l.t + 1", InnerAndFull)(2 -> 1)
    ansi(on = false) {
      check("r.t >= l.t - 2 AND r.t <= l.t + 5 div (l.id - 1)", InnerAndFull)(2 -> 1)
    }
  }

  test("NULL in a residual refuses the pair, not the row") {
    table("l", "k INT, t INT, v INT")("1, 5, 1", "1, 5, NULL", "1, 9, NULL")
    table("r", "k INT, t INT, v INT")("1, 4, 1", "1, 6, NULL")
    check("r.t BETWEEN l.t - 2 AND l.t + 2 AND l.v = r.v", SomeTypes)(1 -> 1)
    check("r.t BETWEEN l.t - 2 AND l.t + 2 AND NOT (l.v <=> r.v)", SomeTypes)(1 -> 2, 2 -> 1)
  }

  test("a side of NULLs only") {
    tables("k INT, t INT")("1, NULL", "NULL, 3")("1, 5", "2, 7")
    check("r.t BETWEEN l.t - 2 AND l.t + 2", SomeTypes)()
    tables("k INT, t INT")("1, 5", "2, 7")("1, NULL", "NULL, 3")
    check("r.t BETWEEN l.t - 2 AND l.t + 2", SomeTypes)()
  }

  test("NULL as the open end of a range: every row of the other side is within it") {
    table("l", "k INT, t INT")("1, 5", "1, NULL", "2, 7", s"1, ${Int.MaxValue}")
    table(
      "r",
      "k INT, t INT, u INT")("1, 1, 9", "1, 4, NULL", "1, NULL, NULL", "1, 6, NULL", "2, 8, NULL")
    for {
      (end, i) <- Seq(
        "(r.u IS NULL OR l.t < r.u)",
        "(l.t < r.u OR r.u IS NULL)",
        "CASE WHEN r.u IS NULL THEN true ELSE l.t < r.u END",
        "if(r.u IS NULL, true, l.t < r.u)",
        "(l.t >= r.u) IS NOT TRUE",
        "NOT coalesce(l.t >= r.u, false)",
        "l.t <= coalesce(r.u, l.t)"
      ).zipWithIndex
      joinTypes = if (i == 0) JoinTypes else Seq(InnerAndFull(i % 2))
    } check(s"l.t >= r.t AND $end", joinTypes)(1 -> 1, 1 -> 2, 4 -> 2, 4 -> 4)
  }

  /** Ends by default, with a value above, or one below. */
  private def defaulted(u: String, other: String) = Seq(
    s"nvl($u, $other)",
    s"ifnull($u, $other)",
    s"coalesce($u, NULL, $other)",
    s"nvl2($u, $u, $other)",
    s"CASE WHEN $u IS NULL THEN $other ELSE $u END",
    s"if(isnull($u), $other, $u)"
  )

  test("a default that is above every value of the other side is an open end") {
    table("l", "k INT, t INT")("1, 5", "1, NULL", "2, 7", "1, 100")
    table(
      "r",
      "k INT, t INT, u INT")("1, 1, 9", "1, 4, NULL", "1, NULL, NULL", "1, 6, NULL", "2, 8, NULL")
    for (end <- oneIn(4)(defaulted("r.u", "l.t + 1")))
      check(s"l.t >= r.t AND $end > l.t", SomeTypes)(1 -> 1, 1 -> 2, 4 -> 2, 4 -> 4)
    for (start <- oneIn(4)(defaulted("r.u", "l.t - 1")))
      check(
        s"$start < l.t",
        InnerAndFull)(1 -> 2, 1 -> 3, 1 -> 4, 3 -> 5, 4 -> 1, 4 -> 2, 4 -> 3, 4 -> 4)
    check("l.t < nvl(r.u, l.t - 1)", InnerAndFull)(1 -> 1)
    check("l.t <= nvl(r.u, l.t) AND r.t <= nvl(l.t, r.t)", SomeTypes)(idPairs("1: 1 2, 4: 2 4"): _*)
  }

  test("an open end by default of every type that has a next value") {
    val days = Seq("2024-03-01", "2024-03-05", "2024-03-09").map(d => s"'$d'")
    for {
      (columnType, values, next) <- Seq(
        ("DATE", days, Seq("date_add(l.t, 1)", "l.t + INTERVAL '1' DAY", "add_months(l.t, 1)")),
        ("TIMESTAMP", days, Seq("l.t + INTERVAL '1' DAY", "l.t + INTERVAL '1' MONTH")),
        ("TIMESTAMP_NTZ", days, Seq("l.t + INTERVAL '1' SECOND")),
        ("DECIMAL(9, 2)", Seq("1", "5", "9"), Seq("l.t + 1", "l.t + 0.01")),
        ("DOUBLE", Seq("1", "5", "9"), Seq("l.t + 1"))
      )
      above <- next
    } {
      table("l", s"k INT, t $columnType")((values :+ "NULL").map(v => s"1, $v"): _*)
      table("r", s"k INT, t $columnType, u $columnType")(
        s"1, ${values(0)}, ${values(1)}",
        s"1, ${values(1)}, NULL",
        "1, NULL, NULL")
      check(s"r.t <= l.t AND nvl(r.u, $above) > l.t", oneIn(2)(InnerAndFull))(
        1 -> 1,
        2 -> 2,
        3 -> 2)
    }
  }

  test("a default at the end of a type is what stock makes of it") {
    val most = Int.MaxValue
    table("l", "k INT, t INT")(s"1, $most", s"1, $most - 1", s"1, ${-most} - 1", "1, 5")
    table("r", "k INT, t INT, u INT")("1, 1, NULL", s"1, 1, $most", s"1, ${-most} - 1, NULL")
    for (end <- oneIn(4)(defaulted("r.u", "l.t + 1"))) {
      ansi(on = false) {
        // It wraps around, and is below.
        check(
          s"r.t <= l.t AND $end > l.t",
          SomeTypes)(2 -> 1, 2 -> 2, 2 -> 3, 3 -> 3, 4 -> 1, 4 -> 2, 4 -> 3)
      }
      ansi(on = true) {
        for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
          val error =
            intercept[Exception](joinOn(Inner, keyed(s"r.t <= l.t AND $end > l.t")).collect())
          assert(causes(error).exists(_.getMessage.contains("ARITHMETIC_OVERFLOW")), end)
        }
        // Of a row that has no partner it is not computed.
        check(s"r.t <= l.t AND r.id = 2 AND $end > l.t", SomeTypes)(2 -> 2, 4 -> 2)
      }
    }
  }

  test("a range by other columns for rows in which the first are NULL") {
    table("l", "k INT, t INT, d INT")("1, 5, 1", "1, NULL, 1", "1, 9, 2", "1, 7, NULL")
    table(
      "r",
      "k INT, t INT, d INT")("1, 4, 9", "1, NULL, 1", "1, NULL, NULL", "1, 5, 2", "2, NULL, 1")
    check(
      "(r.t IS NOT NULL AND l.t > r.t AND l.t <= r.t + 3 OR r.t IS NULL AND l.d >= r.d AND l.d <= r.d + 1)",
      JoinTypes)(1 -> 1, 1 -> 2, 2 -> 2, 3 -> 2, 4 -> 1, 4 -> 4)
    check(
      "CASE WHEN r.t IS NULL THEN l.d = r.d ELSE l.t BETWEEN r.t AND r.t + 3 END",
      InnerAndFull)(1 -> 1, 1 -> 2, 1 -> 4, 2 -> 2, 4 -> 1, 4 -> 4)
  }

  test("NULL as the open end on both sides, and of both ends") {
    val intervals = Seq("1, 1, 9", "1, 20, NULL", "1, NULL, 5", "1, NULL, NULL", "2, 3, 4")
    tables("k INT, t INT, u INT")(intervals: _*)(intervals: _*)
    check(
      "(l.u IS NULL OR r.t <= l.u) AND (r.u IS NULL OR l.t <= r.u)",
      SomeTypes)(1 -> 1, 2 -> 2, 2 -> 4, 4 -> 2, 4 -> 4, 5 -> 5)
    check(
      "(l.t IS NULL OR r.u IS NULL OR l.t <= r.u) AND (r.t IS NULL OR l.u IS NULL OR r.t <= l.u)",
      SomeTypes)(idPairs("1: 1 3 4, 2: 2 4, 3: 1 3 4, 4: 1 2 3 4, 5: 5"): _*)
  }

  test("NULL as the open end beside the extremes of BIGINT, and of strings") {
    val (most, least) = (Long.MaxValue, s"${Long.MinValue + 1} - 1")
    table(
      "l",
      "k INT, t BIGINT")(s"1, $most", s"1, $most - 1", s"1, $least", s"1, $least + 1", "1, NULL")
    table(
      "r",
      "k INT, u BIGINT")("1, NULL", s"1, $most", s"1, $most - 1", s"1, $least + 1", s"1, $least")
    check("(r.u IS NULL OR l.t < r.u)", InnerAndFull)(
      1 -> 1,
      2 -> 1,
      3 -> 1,
      4 -> 1,
      5 -> 1,
      2 -> 2,
      3 -> 2,
      4 -> 2,
      3 -> 3,
      4 -> 3,
      3 -> 4)
    table("l", "k INT, t STRING")("1, '2024-01-05'", "1, NULL", "1, 'z'")
    table("r", "k INT, t STRING, u STRING")(
      "1, '2024-01-01', '2024-01-05'",
      "1, '2024-01-02', NULL")
    check("l.t >= r.t AND (r.u IS NULL OR l.t <= r.u)", InnerAndFull)(1 -> 1, 1 -> 2, 3 -> 2)
  }

  test("what opens a range hides no error that stock raises, and adds none") {
    spark.range(0, 3, 1, 2).selectExpr(
      s"if(id = 1, ${Long.MaxValue}, id) AS id",
      "1 AS k",
      "id = 1 AS open").createOrReplaceTempView("l")
    spark.range(0, 4, 1, 2).selectExpr("1 AS k", "id AS u").createOrReplaceTempView("r")
    def join(on: String) = spark.sql(s"SELECT l.id, r.u FROM l JOIN r ON l.k = r.k AND ($on)")
    withConf(SQLConf.ANSI_ENABLED.key -> "true") {
      for (flag <- Seq("true", "false")) withConf(Flag -> flag) {
        val error = intercept[Exception](join("l.id + 1 < r.u OR l.open").collect())
        assert(causes(error).exists(_.getMessage.contains("ARITHMETIC_OVERFLOW")), (flag, error))
      }
      val shortCircuit = "l.open OR l.id + 1 < r.u"
      val expected = rowsOfStock(join(shortCircuit))
      assert(expected.size == 4 + 2)
      checkRangeJoins(join(shortCircuit), expected, joins = 1, Engines)
    }
  }
}
