// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.semantics

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.desc
import org.apache.spark.sql.rangejoin.PlanForm

import org.scalatest.tagobjects.Slow

/** Range joins within larger queries: below LIMIT and aggregation, on one another, in a union. */
class CompositionSuite extends SemanticsTest {
  import PlanForm._
  import SemanticsTest._

  override protected def forms: Seq[PlanForm] = Seq(Merged, Broadcast, Shuffled)

  override protected def hasFormsInTurn: Boolean = true

  private val band = "l.k = r.k AND r.t BETWEEN l.t - 2 AND l.t + 2"

  private def side(name: String, rows: Int, seed: Int): Unit =
    spark.range(rows).selectExpr(
      "id",
      s"nullif(pmod(hash(id, $seed), 5), 4) AS k",
      s"cast(pmod(hash(id, $seed + 1), 40) AS INT) AS t",
      "id % 6 AS v"
    ).createOrReplaceTempView(name)

  private def sides(): Unit = {
    side("l", 60, 1)
    side("r", 50, 2)
    side("x", 40, 3)
  }

  private def checkSql(sql: String, joins: Int = 1): Int = {
    val n = checkAgainstStock(spark.sql(sql), joins, bothEngines)
    assert(n > 0, sql)
    n
  }

  testOfCases("LIMIT above each join type gives that many rows of the join", 4)(JoinTypes) {
    joinTypes =>
      sides()
      for (joinType <- joinTypes) {
        def all: DataFrame = joinOn(joinType, band)
        val expected = rowsOfStock(all)
        for (n <- Seq(1, 7, 1000); settings <- oneOf(joinType + n)) withConf(settings: _*) {
          val df = all.limit(n)
          assertPlanned(df, 1, settings)
          val actual = rows(df)
          assert(actual.size == math.min(n, expected.size), s"$joinType $settings")
          assert(actual.diff(expected).isEmpty, s"$joinType $settings")
        }
        def first: DataFrame = all.toDF(all.columns.indices.map(i => s"c$i"): _*)
          .orderBy(all.columns.indices.map(i => desc(s"c$i")): _*).limit(9)
        assert(checkAgainstStock(first, engines = oneOf(joinType)) == 9)
      }
  }

  test("a table joined with itself") {
    sides()
    for (joinType <- Seq(Inner, LeftOuter, FullOuter, LeftAnti)) {
      val columns = if (joinType == LeftAnti) "a.id" else "a.id, b.id"
      checkSql(s"SELECT $columns FROM l a $joinType JOIN l b ON a.k = b.k AND a.id <> b.id AND " +
        "b.t BETWEEN a.t AND a.t + 1")
      checkSql(s"SELECT $columns FROM l a $joinType JOIN l b ON a.k = b.k AND b.t > a.t + 30")
    }
  }

  private val PairTypes = Seq(Inner, LeftOuter, RightOuter, FullOuter)

  testOfCases("a range join on the left of another, of every two join types", 5)(
    for (first <- PairTypes; second <- PairTypes :+ LeftSemi :+ LeftAnti)
      yield (first, second)) { types =>
    sides()
    for ((first, second) <- types) {
      val columns =
        if (second == LeftSemi || second == LeftAnti) "l.id, r.id" else "l.id, r.id, x.id"
      val sql = s"SELECT $columns FROM l $first JOIN r ON $band " +
        s"$second JOIN x ON r.k = x.k AND x.t BETWEEN r.t AND r.t + 2"
      checkAgainstStock(spark.sql(sql), joins = 2, engines = oneOf(sql))
    }
  }

  test("a range join on the right of another, and below a semi join") {
    sides()
    for ((first, second) <- oneIn(2)(for {
        first <- Seq(LeftOuter, FullOuter)
        second <- Seq(Inner, FullOuter, LeftAnti)
      } yield (first, second))) {
      val columns = if (second == LeftAnti) "x.id" else "x.id, j.lid, j.rid"
      checkSql(
        s"SELECT $columns FROM x $second JOIN (SELECT l.id lid, r.id rid, l.k, l.t FROM l $first " +
          s"JOIN r ON $band) j ON x.k = j.k AND j.t >= x.t",
        joins = 2
      )
    }
  }

  test("aggregation by the key, by the range column and of everything", Slow) {
    sides()
    for (joinType <- Seq(Inner, LeftOuter, RightOuter, FullOuter)) {
      checkSql(
        s"SELECT l.k, count(*), sum(r.t), max(r.id) FROM l $joinType JOIN r ON $band GROUP BY l.k")
      checkSql(s"SELECT r.k, r.t, count(l.id) FROM l $joinType JOIN r ON $band GROUP BY r.k, r.t")
      checkSql(s"SELECT count(*), count(r.id), min(l.t) FROM l $joinType JOIN r ON $band")
      checkSql(s"SELECT DISTINCT l.v, r.v FROM l $joinType JOIN r ON $band")
    }
    checkSql(s"SELECT k, count(*) FROM l LEFT ANTI JOIN r ON $band GROUP BY k")
    checkSql(
      s"SELECT l.id, row_number() OVER (PARTITION BY l.k ORDER BY l.t, l.id, r.id) FROM l LEFT JOIN r ON $band")
  }

  test("aggregation below the join") {
    sides()
    for (joinType <- Seq(Inner, FullOuter)) {
      checkSql(s"SELECT * FROM (SELECT k, max(t) t, min(t) u FROM l GROUP BY k) l $joinType JOIN " +
        "(SELECT DISTINCT k, t FROM r) r ON l.k = r.k AND r.t BETWEEN l.u AND l.t - 3")
    }
  }

  testIn(forms)("a union of range joins of different types") {
    sides()
    for (fused <- Seq("true", "false")) {
      withConf("spark.sql.codegen.wholeStage.union.enabled" -> fused) {
        checkSql(
          s"SELECT l.id, r.id FROM l JOIN r ON $band " +
            s"UNION ALL SELECT l.id, r.id FROM l FULL OUTER JOIN r ON $band " +
            s"UNION ALL SELECT l.id, NULL FROM l LEFT ANTI JOIN r ON $band " +
            "UNION ALL SELECT l.id, r.id FROM l LEFT JOIN r ON l.k = r.k AND r.t > l.t + 20",
          joins = 4
        )
        checkSql(s"SELECT l.id, count(*) FROM l JOIN r ON $band GROUP BY l.id UNION ALL " +
          "SELECT id, v FROM x")
      }
    }
  }

  test("EXISTS twice, with different ranges and tables", Slow) {
    sides()
    val inR = s"EXISTS (SELECT 1 FROM r WHERE $band AND r.v <> l.v)"
    val inX = "EXISTS (SELECT 1 FROM x WHERE l.k = x.k AND x.t > l.t + 10)"
    checkSql(s"SELECT id FROM l WHERE $inR AND $inX", joins = 2)
    checkSql(s"SELECT id FROM l WHERE $inR AND NOT $inX", joins = 2)
    checkSql(s"SELECT id FROM l WHERE $inR OR $inX", joins = 2)
    checkSql(s"SELECT id, $inR AS a, NOT $inX AS b FROM l", joins = 2)
  }

  test("a range join beside joins of other kinds") {
    sides()
    checkSql(
      s"SELECT l.id, r.id, x.id FROM l LEFT JOIN r ON $band JOIN x ON l.k = x.k AND x.v = l.v")
    checkSql(
      "SELECT l.id, r.id FROM (SELECT l.* FROM l JOIN x ON l.id = x.id) l FULL OUTER JOIN r " +
        s"ON $band")
    checkSql(
      s"SELECT l.id, r.id, x.id FROM l JOIN r ON $band LEFT JOIN (SELECT * FROM x LIMIT 3) x " +
        "ON l.v <> x.v")
  }

  test("filters above an outer join keep or drop its unmatched rows", Slow) {
    sides()
    checkSql(s"SELECT l.id FROM l LEFT JOIN r ON $band WHERE r.id IS NULL")
    checkSql(s"SELECT l.id, r.id FROM l LEFT JOIN r ON $band WHERE r.v > 2 OR r.v IS NULL")
    checkSql(s"SELECT l.id, r.id FROM l FULL OUTER JOIN r ON $band WHERE coalesce(l.v, r.v) > 2")
    checkSql(
      s"SELECT l.id, r.id FROM l FULL OUTER JOIN r ON $band WHERE l.id IS NULL OR r.id IS NULL")
    checkSql(s"SELECT l.id, r.id FROM l FULL OUTER JOIN r ON $band WHERE l.v > 2")
  }
}
