/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin

import scala.util.Try

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf

/**
 * The rules of meaning, each by its name: joins against stock Spark in the same session, under
 * every engine.
 */
class JoinResultSuite extends RangeJoinTest {

  private val Zone = "spark.sql.session.timeZone"

  private def numbers(rows: Int, keys: Int, domain: Int, seed: Int): DataFrame =
    spark.range(rows).select(
      col("id"),
      pmod(hash(col("id"), lit(seed)), lit(keys)).as("k"),
      pmod(hash(col("id"), lit(seed + 1)), lit(domain)).as("t"))

  /** Two tables with the columns `k` and `t`, of the rows given in SQL. */
  private def tables(left: String, right: String, columnType: String): Unit =
    for ((name, values) <- Seq("l" -> left, "r" -> right)) {
      spark.sql(s"SELECT k, cast(t AS $columnType) AS t FROM VALUES $values AS v(k, t)")
        .createOrReplaceTempView(name)
    }

  private def joined(condition: String): DataFrame =
    spark.sql(s"SELECT l.k, l.t, r.t FROM l JOIN r ON l.k = r.k AND $condition")

  private def ansi[T](on: Boolean)(test: => T): T =
    withConf(SQLConf.ANSI_ENABLED.key -> on.toString)(test)

  test("a band over many rows") {
    val l = numbers(400, 5, 200, 1).as("l")
    val r = numbers(300, 5, 200, 2).as("r")
    val n = checkAgainstStock(l.join(r, expr("l.k = r.k and r.t between l.t - 3 and l.t + 3")))
    assert(n > 100)
  }

  test("NULL in a key, a range column or a bound matches nothing") {
    tables("(1, 5), (1, NULL), (NULL, 5), (2, 5)", "(1, 4), (1, NULL), (NULL, 5), (2, 9)", "INT")
    assert(checkAgainstStock(joined("r.t BETWEEN l.t - 2 AND l.t + 2")) == 1)
    assert(checkAgainstStock(joined(
      "r.t >= l.t - 2 AND r.t <= if(l.k = 1, NULL, l.t + 9)")) == 1)
  }

  test("ties on both sides give all their pairs") {
    tables("(1, 5), (1, 5), (1, 5), (1, 7)", "(1, 5), (1, 5), (1, 6), (1, 7), (1, 7)", "BIGINT")
    assert(checkAgainstStock(joined("r.t BETWEEN l.t AND l.t")) == 3 * 2 + 2)
    assert(checkAgainstStock(joined("r.t > l.t AND r.t < l.t + 2")) == 3)
  }

  test("an end is strict or inclusive as it is written") {
    tables("(1, 0)", (-3 to 3).map(t => s"(1, $t)").mkString(", "), "INT")
    assert(checkAgainstStock(joined("r.t >= l.t - 2 AND r.t <= l.t + 2")) == 5)
    assert(checkAgainstStock(joined("r.t > l.t - 2 AND r.t <= l.t + 2")) == 4)
    assert(checkAgainstStock(joined("l.t - 2 <= r.t AND l.t + 2 > r.t")) == 4)
    assert(checkAgainstStock(joined("abs(l.t - r.t) < 2")) == 3)
  }

  test("an inverted band matches nothing, for the rows for which it is inverted") {
    tables("(1, 0), (1, 5), (1, 9)", (0 to 10).map(t => s"(1, $t)").mkString(", "), "INT")
    assert(checkAgainstStock(joined("r.t BETWEEN l.t + 2 AND l.t - 2")) == 0)
    assert(checkAgainstStock(joined("r.t BETWEEN l.t AND 10 - l.t")) == 11 + 1)
    assert(checkAgainstStock(joined("abs(l.t - r.t) <= -1")) == 0)
  }

  test("a bound need not rise with its column") {
    val rows = (-20 to 20).map(t => s"(1, $t)").mkString(", ")
    tables(rows, rows, "INT")
    for (bound <- Seq("10 - l.t", "l.t % 7", "l.t * -2", "abs(l.t)", "pmod(l.t * 31, 17)")) {
      checkAgainstStock(joined(s"r.t >= $bound AND r.t <= $bound + 3"))
      checkAgainstStock(joined(s"r.t >= l.t AND r.t <= $bound"))
      val buffered = bound.replace("l.t", "r.t")
      checkAgainstStock(joined(s"l.t >= $buffered AND l.t <= $buffered + 3"))
    }
  }

  private val extremes = Map(
    "TINYINT" -> (Byte.MinValue.toLong, Byte.MaxValue.toLong),
    "SMALLINT" -> (Short.MinValue.toLong, Short.MaxValue.toLong),
    "INT" -> (Int.MinValue.toLong, Int.MaxValue.toLong),
    "BIGINT" -> (Long.MinValue, Long.MaxValue)
  )

  for ((columnType, (least, greatest)) <- extremes) {
    test(s"the extremes of $columnType join with themselves and their neighbours") {
      val values = Seq(least, least + 1, least + 2, -1L, 0L, 1L, greatest - 1, greatest)
      val rows = values.map(t => s"(1, '$t')").mkString(", ")
      tables(rows, rows, columnType)
      for (on <- Seq(true, false)) ansi(on) {
        assert(checkAgainstStock(joined("r.t BETWEEN l.t AND l.t")) == 8)
        assert(checkAgainstStock(joined("r.t >= l.t AND l.t >= r.t AND l.t + 0 = r.t")) >= 0)
      }
      // Three different predicates where arithmetic wraps around.
      ansi(on = false) {
        checkAgainstStock(joined("r.t BETWEEN l.t - 2 AND l.t + 2"))
        checkAgainstStock(joined("l.t - r.t BETWEEN -2 AND 2"))
        checkAgainstStock(joined("abs(l.t - r.t) <= 2"))
        checkAgainstStock(joined("abs(l.t - r.t) < 2 AND l.t <> r.t"))
        checkAgainstStock(joined("l.t - r.t > -3 AND l.t - r.t < 1"))
      }
    }
  }

  test(
    "overflow under ANSI raises for pairs within the range, and not for rows without a partner") {
    val least = Long.MinValue
    ansi(on = true) {
      tables(s"(1, '$least'), (2, '5')", "(2, 4), (3, 9)", "BIGINT")
      // The row that overflows has no partner.
      assert(checkAgainstStock(joined("r.t >= l.t - 2 AND r.t <= l.t + 2")) == 1)
      tables(s"(1, '$least'), (2, '5')", s"(1, '${least + 1}'), (2, '9')", "BIGINT")
      // It has one now, within the range, and the first conjunct overflows.
      for (settings <- RangeJoinTest.Engines; flag <- Seq("true", "false")) {
        withConf(settings :+ (Flag -> flag): _*) {
          val raised = Try(joined("r.t >= l.t - 2 AND r.t <= l.t + 2").collect().toSeq)
          assert(
            raised.failed.toOption.exists(_.getMessage.contains("ARITHMETIC_OVERFLOW")),
            s"$raised flag $flag under $settings")
        }
      }
    }
  }

  test("an expression that raises is asked for pairs of the range only, and loses none") {
    tables("(1, 5), (1, 6), (2, 0)", "(1, 5), (1, 7), (3, 2)", "INT")
    ansi(on = true) {
      // The row (2, 0) would divide by zero, and has no partner.
      assert(checkAgainstStock(joined("r.t >= 25 div l.t AND r.t <= l.t + 1")) > 0)
      checkAgainstStock(joined("r.t >= l.t - 1 AND r.t <= l.t + 1 AND 10 div r.t > 1"))
      val raising = joined("r.t >= 25 div (l.t - 5) AND r.t <= l.t + 1")
      assert(Try(raising.collect()).isFailure)
      assert(Try(withConf(Flag -> "false")(raising.collect())).isFailure)
    }
  }

  for (zone <- Seq("America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "UTC")) {
    test(s"whole days are days of the calendar in $zone") {
      withConf(Zone -> zone) {
        def hours(from: String) = spark.sql(
          s"""SELECT year(t) AS k, t FROM (SELECT explode(sequence(
             |  timestamp '$from 00:00:00', timestamp '$from 00:00:00' + interval 60 hours,
             |  interval 30 minutes)) AS t)""".stripMargin)
        for (from <- Seq("2024-03-09", "2024-03-30", "2024-10-05", "2024-11-02")) {
          hours(from).createOrReplaceTempView("l")
          hours(from).createOrReplaceTempView("r")
          for (band <- Seq(
              "r.t BETWEEN l.t - INTERVAL '1' DAY AND l.t + INTERVAL '1' DAY",
              "r.t >= l.t + INTERVAL '1' DAY AND r.t < l.t + INTERVAL '25' HOUR",
              "abs(l.t - r.t) <= INTERVAL '90' MINUTE"
            )) {
            withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
              val expected = withConf(Flag -> "false")(rows(joined(band)))
              val df = joined(band)
              assert(rangeJoins(df).size == 1)
              assertSameRows(rows(df), expected, s"$band from $from")
            }
          }
        }
      }
    }
  }

  test("types are compared as Spark coerces them") {
    tables("(1, '2024-03-10'), (1, '2024-03-11')", "(1, '2024-03-10'), (1, '2024-03-12')", "DATE")
    checkAgainstStock(joined("r.t BETWEEN l.t - INTERVAL '1' DAY AND date_add(l.t, 1)"))
    checkAgainstStock(joined(
      "r.t >= l.t - INTERVAL '2' HOUR AND r.t <= l.t + INTERVAL '26' HOUR"))
    checkAgainstStock(joined("datediff(l.t, r.t) BETWEEN -1 AND 1"))
    checkAgainstStock(joined("abs(l.t - r.t) <= INTERVAL '1' DAY"))
    tables("(1, 5), (1, 300)", "(1, 6), (1, 299)", "SMALLINT")
    checkAgainstStock(joined("r.t BETWEEN l.t - 2L AND l.t + 2L"))
    checkAgainstStock(joined("abs(l.t - r.t) <= 2L"))
  }

  test("one limit of a difference beside another test is asked again where it overflows") {
    spark.sql("SELECT k, cast(y AS TINYINT) y, cast(z AS TINYINT) z FROM VALUES " +
      "(1, 100, 100), (1, -100, 100), (1, 5, 7) AS v(k, y, z)").createOrReplaceTempView("l")
    spark.sql("SELECT k, cast(y AS TINYINT) y FROM VALUES (1, -100), (1, 100), (1, 6) AS v(k, y)")
      .createOrReplaceTempView("r")
    def on(condition: String) =
      spark.sql(s"SELECT l.y, r.y FROM l JOIN r ON l.k = r.k AND $condition")
    ansi(on = false) {
      checkAgainstStock(on("r.y >= -l.y AND l.y - r.y >= -2Y AND l.y - r.y <= 2Y"))
    }
    for (mode <- Seq(true, false)) ansi(mode) {
      checkAgainstStock(on("try_subtract(l.y, r.y) <= 2Y AND r.y <= l.z"))
      checkAgainstStock(on("try_subtract(l.y, r.y) BETWEEN -2Y AND 2Y"))
    }
  }

  test("months are of different lengths, with a zone and without") {
    for (columnType <- Seq("TIMESTAMP_NTZ", "TIMESTAMP", "DATE")) {
      tables(
        "(1, '2026-01-30 23:00:00'), (1, '2026-01-31 01:00:00'), (1, '2026-01-28 00:00:00')",
        "(1, '2026-02-28 02:00:00'), (1, '2026-02-28 12:00:00'), (1, '2026-02-28 00:00:00')",
        columnType
      )
      checkAgainstStock(joined("r.t >= add_months(l.t, 1) AND r.t <= add_months(l.t, 2)"))
      if (columnType != "DATE") {
        val n = checkAgainstStock(joined(
          "r.t >= l.t + make_interval(0, 1) AND r.t <= l.t + make_interval(0, 1, 0, 1)"))
        assert(n > 0)
        checkAgainstStock(joined(
          "r.t >= l.t + INTERVAL '1' MONTH AND r.t <= l.t + INTERVAL '2' MONTH"))
      }
    }
  }

  test("empty sides, and keys on one side only") {
    tables("(1, 5)", "(2, 5)", "INT")
    assert(checkAgainstStock(joined("r.t BETWEEN l.t - 1 AND l.t + 1")) == 0)
    assert(checkAgainstStock(joined("r.t BETWEEN l.t - 1 AND l.t + 1 AND l.k > 5")) == 0)
  }

  test("keys of several columns and types") {
    for (key <- Seq(
        "k",
        "cast(k AS string)",
        "cast(k AS double)",
        "cast(k AS decimal(30, 2))",
        "named_struct('a', k, 'b', cast(k % 2 AS string))",
        "array(k, k % 2)",
        "cast(cast(k AS string) AS binary)",
        "concat('x', k) COLLATE UTF8_LCASE"
      )) {
      def side(seed: Int) =
        numbers(120, 6, 80, seed).selectExpr(s"$key AS k", "id % 2 AS k2", "t", "id")
      checkAgainstStock(side(1).as("l").join(
        side(2).as("r"),
        expr("l.k = r.k and l.k2 = r.k2 and r.t between l.t - 3 and l.t + 3")))
    }
    val l = numbers(100, 3, 40, 1).selectExpr("nullif(k, 1) AS k", "t").as("l")
    val r = numbers(100, 3, 40, 2).selectExpr("nullif(k, 1) AS k", "t").as("r")
    checkAgainstStock(l.join(r, expr("l.k <=> r.k and r.t between l.t - 3 and l.t + 3")))
  }
}
