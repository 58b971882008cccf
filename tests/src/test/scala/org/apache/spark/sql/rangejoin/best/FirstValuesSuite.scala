// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.expressions.{Window => Over}
import org.apache.spark.sql.functions.{first => firstOf, _}

/** First and last values of a window, where what is above reads each value once. */
class FirstValuesSuite extends BestMatchesTest {
  import BestMatchesTest._
  import FirstValuesSuite._

  private def pairs(joinType: String = "INNER", range: String = "r.t <= l.t"): String =
    s"FROM l $joinType JOIN r ON l.k = r.k AND $range"

  // A row of the first value alone has one right answer.
  private def first(by: String, partition: String = "l.id", frame: String = ""): String =
    s"first_value(r.id) OVER (PARTITION BY $partition ORDER BY $by, r.id $frame)"

  private def last(by: String, frame: String = Whole): String =
    s"last_value(r.id) OVER (PARTITION BY l.id ORDER BY $by, r.id $frame)"

  test("DISTINCT first and last values, from either end of a range") {
    bothSides(80, 120, 3)(valueOf("BIGINT"))
    for (joinType <- Seq("INNER", "LEFT"); by <- Seq("r.t DESC", "r.t", "r.t DESC NULLS FIRST")) {
      check(s"SELECT DISTINCT l.id, ${first(by)} ${pairs(joinType)}")
      check(s"SELECT DISTINCT l.id, ${last(by)} ${pairs(joinType, "r.t BETWEEN l.t - 20 AND l.t")}")
    }
  }

  test("what is read is of the streamed side, in any expression, above filters and projections") {
    bothSides(80, 120, 5)(valueOf("BIGINT"))
    val latest = first("r.t DESC")
    for (query <- Seq(
        // The partition has several rows, of which each comes out.
        s"SELECT DISTINCT l.t, l.v, ${first("r.t DESC", "l.k, l.t")} ${pairs()}",
        s"SELECT DISTINCT l.v + $latest AS x ${pairs()}",
        s"SELECT DISTINCT l.v, x FROM (SELECT l.id, l.v, $latest AS x ${pairs()}) l WHERE x > l.v AND x % 2 = 0",
        s"SELECT l.id, max(x), min(x + l.v) FROM (SELECT l.id, l.v, $latest AS x ${pairs()}) l GROUP BY l.id",
        s"SELECT l.id, count(DISTINCT x) FROM (SELECT l.id, $latest AS x ${pairs()}) l GROUP BY l.id",
        s"SELECT DISTINCT l.id, $latest AS a, ${first("r.t DESC", frame = Whole)} AS b ${pairs()}"
      )) check(query)
  }

  test("DataFrames, of distinct rows") {
    bothSides(80, 120, 7)(valueOf("BIGINT"))
    def query = {
      val window = Over.partitionBy("l.id").orderBy(desc("r.t"), col("r.id"))
      spark.table("l").as("l")
        .join(spark.table("r").as("r"), expr("l.k = r.k AND r.t <= l.t"), "left")
        .withColumn("latest", firstOf("r.id").over(window))
        .select(col("l.id").as("row"), col("latest")).distinct()
    }
    query.createOrReplaceTempView("latest")
    check("SELECT * FROM latest", forms = Seq(Form("")))
  }

  test("all pairs, where another row of the partition may give another value") {
    bothSides(60, 90, 9)(valueOf("BIGINT"))
    val latest = first("r.t DESC")
    for (query <- Seq(
        s"SELECT l.id, $latest ${pairs()}",
        s"SELECT l.id, count(x), sum(x) FROM (SELECT l.id, $latest AS x ${pairs()}) l GROUP BY l.id",
        s"SELECT DISTINCT l.id, r.v, $latest ${pairs()}",
        s"SELECT DISTINCT l.id, x FROM (SELECT l.id, r.v, $latest AS x ${pairs()}) l WHERE v > 1",
        s"SELECT DISTINCT l.id, ${first("r.t DESC", frame = "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW")} ${pairs()}",
        s"SELECT DISTINCT l.id, ${first("r.t DESC", frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING")} ${pairs()}",
        s"SELECT DISTINCT l.id, ${last("r.t", frame = "")} ${pairs()}",
        s"SELECT DISTINCT l.id, ${latest.replace("(r.id)", "(IF(r.v > 2, r.v, NULL)) IGNORE NULLS")} ${pairs()}",
        s"SELECT DISTINCT l.id, $latest, ${last("r.t DESC")} ${pairs()}",
        s"SELECT DISTINCT l.id, $latest, ${first("r.t")} ${pairs()}",
        s"SELECT DISTINCT l.id, $latest, row_number() OVER (PARTITION BY l.id ORDER BY r.t DESC, r.id) ${pairs()}"
      )) check(query, best = false, Forms.take(1))
  }

  test("any match of a row, where what is read is of its side alone") {
    bothSides(80, 120, 13)(valueOf("BIGINT"))
    for (range <- Seq(
        "r.t <= l.t",
        "r.t > l.t",
        "r.t BETWEEN l.t - 20 AND l.t",
        "r.t < l.u AND l.t <= r.t AND r.v <> l.v"))
      for (query <- Seq(
          s"SELECT DISTINCT l.id, l.v ${pairs(range = range)}",
          s"SELECT l.k, count(DISTINCT l.id) ${pairs(range = range)} GROUP BY l.k",
          s"SELECT l.v % 2, max(l.t), min(l.id) ${pairs(range = range)} GROUP BY l.v % 2"
        )) check(query)
    check(
      "SELECT l.v % 3, count(DISTINCT l.id), max(l.v) FROM l JOIN r ON r.t <= l.t GROUP BY l.v % 3",
      forms = Seq(byBuckets(5), Forms.last))
    check(s"SELECT DISTINCT l.id, r.v ${pairs()}", best = false)
    check(s"SELECT l.v, max(l.t), count(*) ${pairs()} GROUP BY l.v", best = false, Forms.take(1))
  }

  test("the first of sorted rows, beside a value at one end or alone, is of any pair") {
    bothSides(80, 120, 15)(valueOf("BIGINT"))
    val merge = Forms.take(1).map(form =>
      form.copy(settings =
        Seq("spark.sql.adaptive.enabled" -> "false", "spark.sql.shuffle.partitions" -> "1")))
    def sorted(columns: String) =
      s"SELECT l.v, $columns ${pairs()} SORT BY r.t DESC, r.id, l.id"
    check(
      s"SELECT l.v, first(rid) FROM (${sorted("l.id AS rid")}) l GROUP BY l.v",
      best = false,
      merge)
    check(
      s"SELECT l.v, max(t), first(rid) FROM (${sorted("r.t, l.id AS rid")}) l GROUP BY l.v",
      best = false,
      merge)
    // Each row of the side that is read still comes, in the same order.
    check(
      s"SELECT l.v, first(rid) FROM (SELECT l.v, l.id AS rid ${pairs()} SORT BY l.t, l.id) l GROUP BY l.v",
      forms = merge)
    val window =
      s"SELECT l.v, l.id AS rid, ${first("r.t DESC", "l.v").replace("r.id ", "r.id, l.id ")} AS x ${pairs()}"
    check(s"SELECT l.v, last(rid) FROM ($window) l GROUP BY l.v, x", best = false, merge)
    check(
      s"SELECT l.v, max(rid), last(l.v) FROM (SELECT l.v, l.id AS rid ${pairs()}) l GROUP BY l.v")
  }

  test("a common table expression that is not deterministic is computed once for its readers") {
    for ((name, rows) <- Seq("l" -> 40, "r" -> 60))
      spark.range(rows).selectExpr(
        "id",
        "id % 3 AS k",
        "id * 7 % 50 AS t").createOrReplaceTempView(name)
    spark.udf.register(
      "drawn",
      udf((_: Long) => scala.util.Random.nextDouble()).asNondeterministic())
    val pairsOf =
      s"WITH p AS (SELECT /*+ BROADCAST(r) */ l.id, l.x FROM (SELECT *, drawn(id) AS x FROM l) l " +
        "JOIN r ON l.k = r.k AND r.t <= l.t)"
    for (engine <- bothEngines) withConf(engine: _*) {
      val df = spark.sql(s"$pairsOf SELECT count(*) = count(b.x), count(*) = count(a.x) " +
        "FROM (SELECT DISTINCT x FROM p) a FULL JOIN (SELECT x, count(*) c FROM p GROUP BY x) b ON a.x = b.x WHERE coalesce(c, 1) > 0")
      assert(rows(df) == Seq("true|true"), executedPlan(df))
    }
  }

  test("the nearest of all, without a range") {
    bothSides(80, 120, 11)(valueOf("BIGINT"))
    check(s"SELECT DISTINCT l.id, ${first("abs(l.t - r.t)")} FROM l LEFT JOIN r ON l.k = r.k AND r.t IS NOT NULL")
  }
}

object FirstValuesSuite {
  private val Whole = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
}
