// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.rangejoin.PlanForm
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

/** Keys of any type and number, and keys that are asked for with `<=>`. */
class KeySuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, Shuffled)

  override protected def hasFormsInTurn: Boolean = true

  private val band = "r.t BETWEEN l.t - 3 AND l.t + 3"

  for ((columnType, values) <- SampleTypes.All) {
    test(s"keys of $columnType", slowButOneIn(5)(columnType): _*)(withTimeType {
      tables(s"k $columnType, t INT")(values.map(_ + ", 5") :+ "NULL, 5": _*)(
        values.reverse.map(_ + ", 6") :+ "NULL, 6" :+ s"${values.head}, 60": _*)
      val same = (1 to 5).map(i => i -> (6 - i))
      check(band, Seq(FullOuter))(same: _*)
      check("r.t >= l.t", Seq(LeftOuter))(same :+ (1 -> 7): _*)
      checkOn(s"l.k <=> r.k AND $band", oneIn(2)(SomeTypes))(same :+ (6 -> 6): _*)
    })
  }

  test("keys of several columns and types") {
    val keys = Seq(
      "k",
      "cast(k AS string)",
      "cast(k AS double)",
      "cast(k AS decimal(30, 2))",
      "named_struct('a', k, 'b', cast(k % 2 AS string))",
      "array(k, k % 2)",
      "cast(cast(k AS string) AS binary)",
      "concat('x', k) COLLATE UTF8_LCASE"
    ).filter(TypesOfLine.knows(_))
    for ((key, joinType) <- oneIn(2)(keys.zip(JoinTypes :+ FullOuter))) {
      for ((name, seed) <- Seq("l" -> 1, "r" -> 2)) {
        spark.range(120).selectExpr(
          "id",
          s"pmod(hash(id, $seed), 6) AS k",
          s"pmod(hash(id, $seed + 1), 80) AS t")
          .selectExpr("id", s"$key AS k", "id % 2 AS k2", "t")
          .createOrReplaceTempView(name)
      }
      assert(checkRange(s"l.k2 = r.k2 AND $band", joinType) > 20)
    }
  }

  test("two and three key columns, with NULL in any of them") {
    tables("a INT, b STRING, c DATE, t INT")(
      "1, 'x', '2024-01-01', 5",
      "1, 'x', NULL, 5",
      "1, NULL, '2024-01-01', 5",
      "NULL, 'x', '2024-01-01', 5",
      "1, 'y', '2024-01-01', 5")(
      "1, 'x', '2024-01-01', 6",
      "1, 'x', NULL, 6",
      "NULL, NULL, NULL, 6",
      "1, 'y', '2024-01-01', 50",
      "1, 'y', '2024-01-02', 6")
    checkOn(s"l.a = r.a AND l.b = r.b AND l.c = r.c AND $band", SomeTypes)(1 -> 1)
    checkOn(s"l.a = r.a AND l.b = r.b AND $band", SomeTypes)(1 -> 1, 1 -> 2, 2 -> 1, 2 -> 2, 5 -> 5)
    checkOn(s"l.c <=> r.c AND l.b = r.b AND l.a = r.a AND $band", SomeTypes)(1 -> 1, 2 -> 2)
    checkOn(s"l.a = r.a AND r.t >= l.t AND r.b = l.b AND l.c = r.c", InnerAndFull)(1 -> 1, 5 -> 4)
  }

  test("NULL equals NULL where keys are compared with <=>") {
    tables("k INT, t INT")("1, 5", "NULL, 5", "NULL, NULL", "2, 5", "NULL, 9")(
      "NULL, 6",
      "1, 50",
      "NULL, NULL",
      "1, 4",
      "3, 5")
    checkOn(s"l.k <=> r.k AND $band", SomeTypes)(1 -> 4, 2 -> 1, 5 -> 1)
    checkOn("l.k <=> r.k AND r.t > l.t", SomeTypes)(1 -> 2, 2 -> 1)
    checkOn("l.k <=> r.k AND abs(l.t - r.t) = 1 AND r.t <= l.t + 1", Seq(FullOuter))(1 -> 4, 2 -> 1)
  }

  test("keys that are expressions, of different types, and the range column as key") {
    tables("k INT, t INT, s STRING")("1, 5, '10'", "2, 7, '20'", "3, 9, 'x'")(
      "10, 6, '1'",
      "20, 7, '2'",
      "9, 9, '3'")
    checkOn(s"l.k * 10 = r.k AND $band", SomeTypes)(1 -> 1, 2 -> 2)
    checkOn(s"l.s = cast(r.k AS STRING) AND $band", InnerAndFull)(1 -> 1, 2 -> 2)
    checkOn(s"try_cast(l.s AS BIGINT) = r.k AND $band", SomeTypes)(1 -> 1, 2 -> 2)
    checkOn("l.t = r.k AND l.t BETWEEN r.t AND r.t", InnerAndFull)(3 -> 3)
    checkOn("l.t = r.t AND r.k >= l.k", SomeTypes)(2 -> 2, 3 -> 3)
  }
}
