// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Settings, TwoEngines}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.partitioning.RangePartitioningTest

/** Which of two ranges drives a join, and that its rows and errors do not depend on it. */
class DrivingRangeSuite extends RangePartitioningTest {

  private val Lat = "l.lat BETWEEN r.lat - 5 AND r.lat + 5"
  private val Lon = "l.lon BETWEEN r.lon - 1 AND r.lon + 1"

  /** A tenth of all pairs is in the range of `lat`, and one in 180 in that of `lon`. */
  private def points(rows: Int, seed: Int): DataFrame = spark.sql(
    s"""SELECT id, id % 3 AS k, double(id * $seed % 100) AS lat, double(id * $seed * 7 % 360) AS lon FROM range(1, ${rows + 1}, 1, 3)""")

  private def tables(): Unit = {
    points(700, 7919).createOrReplaceTempView("l")
    points(500, 31337).createOrReplaceTempView("r")
  }

  /** The columns of the range that drives the one join of a plan. */
  private def driving(df: DataFrame): Set[String] =
    only(JoinReports.of(executedPlan(df))).range.flatMap(_.references.map(_.name)).toSet

  /** Of groups of any size a second range is indexed. */
  private val ByBoth = Seq(InternalConf.SecondRangeThreshold.key -> "1")

  /** Joins as Spark plans them: by hint and settings, and whether they have a key. */
  private val Joins: Seq[(String, Boolean, Settings)] = Seq(
    ("/*+ MERGE(r) */", true, Nil),
    ("/*+ SHUFFLE_HASH(r) */", true, Nil),
    ("/*+ BROADCAST(r) */", true, ByBoth),
    ("/*+ BROADCAST(r) */", false, ByBoth),
    ("", false, Seq(Buckets -> "5")),
    ("", false, Seq(InternalConf.RangePartitioningThreshold.key -> "1GB"))
  )

  private def condition(hasKey: Boolean, ranges: String*): String =
    ((if (hasKey) Seq("l.k = r.k") else Nil) ++ ranges).mkString(" AND ")

  test("the range that is written first drives") {
    tables()
    for ((hint, hasKey, settings) <- Joins; first <- Seq("lat", "lon")) withConf(settings: _*) {
      val on = if (first == "lat") Seq(Lat, Lon) else Seq(Lon, Lat)
      val df = spark.sql(s"SELECT $hint l.id FROM l JOIN r ON ${condition(hasKey, on: _*)}")
      assert(driving(df) == Set(first), executedPlan(df))
    }
  }

  testOfCases("a sample says which range drives within the buckets, under adaptive execution", 5)(
    for {
      joinType <- BucketTypes
      first <- Seq("lat", "lon")
      engine <- TwoEngines
    } yield (joinType, first, engine)) { cases =>
    tables()
    for ((joinType, first, engine) <- cases) withConf((engine ++ Seq(Buckets -> "6")): _*) {
      val on = if (first == "lat") s"$Lat AND $Lon" else s"$Lon AND $Lat"
      val df = joinOn(joinType, on)
      val found = rows(df)
      assert(bucketNodes(df).size == 2, executedPlan(df))
      val isAdaptive = engine.toMap.apply(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key).toBoolean
      // Within a bucket of `lon` that of `lat` leaves fewer, too: a bucket is wider than the range of `lon`.
      assert(
        driving(df) == Set(if (isAdaptive && first == "lat") "lon" else first),
        executedPlan(df))
      assertSameRows(found, rowsOfStock(joinOn(joinType, on)), s"$joinType $on ${executedPlan(df)}")
    }
  }

  testOfCases("a conjunct that raises is asked after those that it is written behind", 5)(Joins) {
    cases =>
      tables()
      spark.sql(
        "SELECT *, IF(lat >= 1000, 0, 1) AS z FROM (SELECT * FROM l UNION ALL SELECT 0, 0, 5000, 5)")
        .createOrReplaceTempView("l")
      val raising = "r.lon BETWEEN l.lon - 1 DIV l.z AND l.lon + 1 DIV l.z"
      for ((hint, hasKey, settings) <- cases; engine <- bothEngines)
        withConf((engine ++ settings :+ (SQLConf.ANSI_ENABLED.key -> "true")): _*) {
          def query = spark.sql(
            s"SELECT $hint l.id, r.id FROM l JOIN r ON ${condition(hasKey, Lat, raising)}")
          // Stock's loops would compute what occurs twice ahead of the condition, and raise.
          val expected =
            rowsOfStock(query)
          val df = query
          assertSameRows(rows(df), expected, executedPlan(df).toString)
        }
  }
}
