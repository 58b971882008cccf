// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.PlanForm

import org.scalatest.tagobjects.Slow

/** What rows carry beside key and range arrives unharmed, or is not carried at all. */
class PayloadSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, Shuffled)

  override protected def hasFormsInTurn: Boolean = true

  private val band = "l.k = r.k AND r.t BETWEEN l.t - 2 AND l.t + 2"

  /** Forty rows in three keys, with NULLs in key and range column and a payload. */
  private def side(name: String, payload: Seq[String], seed: Int): Unit =
    spark.range(40).selectExpr(Seq(
      "id",
      s"nullif(pmod(hash(id, $seed), 4), 3) AS k",
      s"nullif(cast(pmod(hash(id, $seed + 1), 30) AS INT), 29) AS t"
    ) ++ payload: _*).createOrReplaceTempView(name)

  private def sides(payload: String*): Unit = {
    side("l", payload, 1)
    side("r", payload, 2)
  }

  private def select(joinType: String, columns: String): DataFrame =
    spark.sql(s"SELECT $columns FROM l $joinType JOIN r ON $band")

  private def checkOuterAndInner(columns: String): Unit = {
    for (joinType <- Seq(Inner, LeftOuter, RightOuter, FullOuter)) {
      assert(checkAgainstStock(select(joinType, columns)) > 10)
    }
    for (joinType <- Seq(LeftSemi, LeftAnti)) {
      val ofLeft = columns.split(", ").filterNot(_.contains("r.")).mkString(", ")
      assert(checkAgainstStock(select(joinType, ofLeft)) > 1)
    }
  }

  test("arrays, maps and structs, nested and NULL") {
    sides(
      "if(id % 7 = 0, NULL, array(struct(id AS a, array(cast(id AS STRING), NULL) AS b))) AS p",
      "if(id % 5 = 0, NULL, map(concat('key', id), array(id, NULL))) AS m",
      "struct(id AS x, named_struct('y', repeat('long ', cast(id AS INT)), 'z', X'00FF') AS y) AS s"
    )
    checkOuterAndInner("l.p, l.m, r.s, r.p, l.s, r.m")
  }

  test("values of variable length, from none to some kilobytes", Slow) {
    sides(
      "repeat('x', cast(id * id AS INT)) AS a",
      "cast(repeat('yz', cast(id AS INT) * 50) AS BINARY) AS b",
      "if(id % 2 = 0, NULL, '') AS c",
      "cast(id AS DECIMAL(38, 18)) AS d",
      "make_interval(0, cast(id AS INT)) AS e"
    )
    checkOuterAndInner("l.id, l.a, r.b, r.a, l.c, r.c, l.d, r.d, r.e, l.e")
  }

  test("two hundred columns a side", Slow) {
    sides((1 to 200).map { i =>
      if (i % 3 == 0) s"concat('c', id, $i) AS c$i" else s"id + $i AS c$i"
    }: _*)
    for (joinType <- Seq(Inner, FullOuter, LeftAnti)) {
      assert(checkAgainstStock(select(joinType, "*")) > 1)
    }
  }

  test("no column at all, and columns of one side", Slow) {
    sides("'unused' AS p")
    for (joinType <- JoinTypes if joinType != Existence) {
      val semi = joinType == LeftSemi || joinType == LeftAnti
      val columns =
        Seq("count(*)", "1", "l.id", "l.t") ++ (if (semi) Nil else Seq("r.t", "r.id, r.p"))
      for (output <- columns) {
        checkAgainstStock(select(joinType, output), engines = oneOf(joinType + output))
      }
    }
    checkAgainstStock(spark.sql(
      s"SELECT count(*) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $band) OR id = 3"))
  }

  test("a column that is asked for many times, in output, range and residual") {
    sides("id % 5 AS v")
    val columns = "l.t, l.t AS again, l.t + l.t AS sum, r.t, r.t + l.t AS both, l.v, l.v AS v2, l.k"
    for (joinType <- Seq(Inner, LeftOuter, RightOuter, FullOuter)) {
      val residual = "l.t + l.v + l.t <> r.t + r.v AND l.v + l.v >= 0 AND l.t % 7 <> r.v"
      assert(checkAgainstStock(
        spark.sql(s"SELECT $columns FROM l $joinType JOIN r ON $band AND $residual")) > 1)
    }
  }

  test("the range column and the key are not of the output") {
    sides("id % 5 AS v")
    for (joinType <- Seq(Inner, LeftOuter, FullOuter)) {
      checkAgainstStock(select(joinType, "l.v, r.v"))
      checkAgainstStock(
        spark.sql(
          s"SELECT r.v FROM l $joinType JOIN r ON l.k = r.k AND r.t >= -l.t AND r.t < 3 - l.t"))
    }
  }

  test("columns of one name on both sides, and an output that is computed") {
    sides("id % 5 AS v")
    for (joinType <- Seq(Inner, FullOuter)) {
      checkAgainstStock(
        select(joinType, "coalesce(l.v, r.v) AS v, concat_ws('-', l.id, r.id) AS v, l.*, r.*"))
    }
  }
}
