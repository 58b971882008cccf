// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.merge

import org.apache.spark.scheduler.{SparkListener, SparkListenerTaskEnd}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, Settings}
import org.apache.spark.sql.rangejoin.{LineAbilities, RangeJoinTest}

import org.scalatest.tagobjects.Slow

/** Joins whose window is on disk for the most part, beside stock Spark. */
class SpillSuite extends RangeJoinTest {
  import SpillSuite._

  /** Rows of a few keys; intervals of different lengths, so that rows leave in any order. */
  private def side(name: String, rows: Int, keys: Int): Unit =
    spark.range(0, rows, 1, 2).selectExpr(
      "id",
      s"id % $keys AS k",
      s"if(id % 11 = 0, NULL, 10 * (id div $keys)) AS t",
      s"10 * (id div $keys) + if(id % 7 = 0, 400, 5) AS u",
      "id % 5 AS v",
      "repeat('payload', cast(id % 9 AS INT)) AS p"
    ).createOrReplaceTempView(name)

  private def query(join: String, condition: String): String = join match {
    case "EXISTENCE" =>
      s"SELECT l.id, l.p FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $condition) OR l.id % 4 = 0"
    case "LEFT SEMI" | "LEFT ANTI" => s"SELECT l.id, l.p FROM l $join JOIN r ON $condition"
    case _ => s"SELECT l.id, r.id, l.p, r.p FROM l $join JOIN r ON $condition"
  }

  /** Joins that have spilled. */
  private var spilled = 0

  /** One of both, in turns. */
  private def engines(sql: String): Seq[Settings] =
    if (RangeJoinTest.EveryEngine) Engines
    else Seq(if (sql.hashCode % 2 == 0) Engines.head else Engines.last)

  /** @param leastWindow rows of a window that cannot be in memory */
  private def checkSpilled(
      sql: String,
      buffer: Settings,
      leastWindow: Int,
      joins: Int = 1
  ): Unit = {
    val expected = rowsOfStock(spark.sql(sql))
    for (engine <- engines(sql)) withConf(engine ++ buffer: _*) {
      val df = spark.sql(sql)
      assertPlanned(df, joins, engine)
      assertSameRows(rows(df), expected, s"$sql under $engine")
      for (join <- rangeJoins(df)) {
        val metrics = join.metrics.map { case (name, metric) => name -> metric.value }
        if (metrics("peakWindowRows") >= leastWindow)
          assert(metrics("spilledRows") > 0 && metrics("spillSize") > 0, s"$sql: $metrics")
        assert(metrics("peakMemory") > 0)
        if (metrics("spilledRows") > 0) spilled += 1
      }
    }
  }

  for (limit <- Seq(1, 2, 7)) {
    test(s"every join type and shape with $limit rows in memory", slowIf(limit != 2): _*) {
      spilled = 0
      side("l", 150, 3)
      side("r", 130, 3)
      for {
        (range, i) <- Shapes.zipWithIndex
        // Every other one; the rest with two rows, or one.
        ((join, residual), j) <- JoinsAndResiduals.zipWithIndex if (i + j + limit) % 2 == 0
      } {
        val sql = query(join, s"l.k = r.k AND $range$residual")
        // One task has a key or two, so a part of the rows.
        checkSpilled(sql, RangeJoinTest.spillingFrom(limit), leastWindow = 3 * 2 * limit + 1)
      }
      assert(spilled >= 15, s"of ${Shapes.size * JoinsAndResiduals.size} joins")
    }
  }

  for (join <- Seq("INNER", "FULL OUTER"))
    testWhere(LineAbilities.spillsByBytes)(s"the threshold in bytes: $join", Slow) {
      side("l", 4000, 1)
      side("r", 4000, 1)
      spilled = 0
      checkSpilled(
        query(
          join,
          "l.k = r.k AND r.t BETWEEN l.t - 30000 AND l.t + 30000 AND (l.id + r.id) % 500 = 1"),
        Seq("spark.sql.sortMergeJoinExec.buffer.spill.size.threshold" -> "100k"),
        leastWindow = 3000
      )
      assert(spilled > 0)
    }

  test("thousands of groups one after the other") {
    side("l", 12000, 2000)
    side("r", 12000, 2000)
    checkSpilled(
      query("FULL OUTER", "l.k = r.k AND l.t <= r.u AND r.t <= l.u"),
      RangeJoinTest.spillingFrom(1),
      leastWindow = 20
    )
  }

  test("range joins above one another, beside a sort and an aggregation that spill") {
    side("l", 600, 4)
    side("r", 500, 4)
    side("s", 400, 4)
    val buffer = RangeJoinTest.spillingFrom(3) ++ Seq(
      "spark.sql.objectHashAggregate.sortBased.fallbackThreshold" -> "2",
      SQLConf.WINDOW_EXEC_BUFFER_SPILL_THRESHOLD.key -> "5"
    )
    checkSpilled(
      """SELECT k, id, count(*), sort_array(collect_list(sid)),
        |  rank() OVER (PARTITION BY k ORDER BY count(*), id)
        |FROM (
        |  SELECT l.k, l.id, s.id AS sid
        |  FROM l JOIN r ON l.k = r.k AND r.t BETWEEN l.t - 60 AND l.u
        |    LEFT JOIN s ON l.k = s.k AND s.t BETWEEN r.t - 90 AND r.t + 20
        |  ORDER BY s.id, l.id, r.id)
        |GROUP BY k, id""".stripMargin,
      buffer,
      leastWindow = 20,
      joins = 2
    )
  }

  test("tasks report what they spilled") {
    side("l", 300, 1)
    side("r", 300, 1)
    @volatile var (memory, disk) = (0L, 0L)
    val listener = new SparkListener {
      override def onTaskEnd(end: SparkListenerTaskEnd): Unit = synchronized {
        memory += end.taskMetrics.memoryBytesSpilled
        disk += end.taskMetrics.diskBytesSpilled
      }
    }
    spark.sparkContext.addSparkListener(listener)
    try withConf(RangeJoinTest.spillingFrom(7): _*) {
        val df = spark.sql(query("INNER", "l.k = r.k AND r.t BETWEEN l.t - 500 AND l.t + 500"))
        df.collect()
        spark.sparkContext.listenerBus.waitUntilEmpty()
        assert(disk == only(rangeJoins(df)).metrics("spillSize").value)
        assert(memory > disk, s"$memory bytes in memory, $disk on disk")
      }
    finally spark.sparkContext.removeSparkListener(listener)
  }
}

private object SpillSuite {
  private val Shapes = Seq(
    "r.t BETWEEN l.t - 77 AND l.t + 77",
    "l.t BETWEEN r.t AND r.u",
    "l.t <= r.u AND r.t <= l.u",
    "r.t < l.t",
    "r.p BETWEEN l.p AND l.p || 'z'"
  )

  private val Residual = " AND (l.v + r.v) % 3 = 1"

  private val JoinsAndResiduals = Seq(
    "INNER" -> "",
    "LEFT OUTER" -> Residual,
    "RIGHT OUTER" -> "",
    "FULL OUTER" -> Residual,
    "LEFT SEMI" -> "",
    "LEFT ANTI" -> Residual,
    "EXISTENCE" -> ""
  )
}
