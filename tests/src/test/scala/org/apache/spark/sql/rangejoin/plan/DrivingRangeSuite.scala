// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.util.Random

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.joins.BaseJoinExec
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, EveryEngine, Settings, TwoEngines}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.RangePartitioningTest
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._
import org.apache.spark.sql.rangejoin.shuffled.ShuffledRangeJoinExec

import org.scalatest.BeforeAndAfterAll
import org.scalatest.tagobjects.Slow

/** Which of two ranges drives a join, and that its rows and errors do not depend on it. */
class DrivingRangeSuite extends RangePartitioningTest with TwoRanges with BeforeAndAfterAll {

  private val Lat = "l.lat BETWEEN r.lat - 5 AND r.lat + 5"
  private val Lon = "l.lon BETWEEN r.lon - 1 AND r.lon + 1"

  /** A tenth of all pairs is in the range of `lat`, and one in 180 in that of `lon`. */
  private def points(rows: Int, seed: Int): DataFrame = spark.sql(
    s"""SELECT id, id % 3 AS k, double(id * $seed % 100) AS lat, double(id * $seed * 7 % 360) AS lon,
      date_add(DATE'2024-01-01', int(id % 1000)) AS day FROM range(1, ${rows + 1}, 1, 3)""")

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    for ((name, rows, seed) <- Seq(("l", 700, 7919), ("r", 500, 31337))) {
      spark.sql(s"DROP TABLE IF EXISTS known_$name")
      points(rows, seed).write.saveAsTable(s"known_$name")
      spark.sql(s"ANALYZE TABLE known_$name COMPUTE STATISTICS FOR ALL COLUMNS")
    }
  }

  override protected def afterAll(): Unit = {
    for (name <- Seq("l", "r")) spark.sql(s"DROP TABLE IF EXISTS known_$name")
    super.afterAll()
  }

  private def known(): Unit =
    for (name <- Seq("l", "r")) spark.table(s"known_$name").createOrReplaceTempView(name)

  private def unknown(): Unit = {
    points(700, 7919).createOrReplaceTempView("l")
    points(500, 31337).createOrReplaceTempView("r")
  }

  private def nodes(df: DataFrame): Seq[BaseJoinExec] = collect(executedPlan(df)) {
    case join: SortMergeRangeJoinExec => join
    case join: ShuffledRangeJoinExec  => join
    case join: BroadcastRangeJoinExec => join
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

  for ((hint, hasKey, settings) <- Joins)
    testOfCases(s"statistics say which range drives: $hint, key $hasKey, $settings", 3)(for {
      on <- Seq(Seq(Lat, Lon), Seq(Lon, Lat))
      joinType <- Seq("JOIN", "LEFT JOIN")
    } yield (on, joinType)) { cases =>
      known()
      for ((on, joinType) <- cases; engine <- bothEngines)
        withConf(engine ++ settings: _*) {
          def query = spark.sql(
            s"SELECT $hint l.id, r.id FROM l $joinType r ON ${condition(hasKey, on: _*)}")
          val df = query
          val planned = driving(df)
          assert(planned == Set("lon"), executedPlan(df))
          assertSameRows(rows(df), stock(query), s"$on ${executedPlan(df)}")
          assert(nodes(df).size == 1, executedPlan(df))
        }
    }

  test("without statistics the range that is written first drives") {
    unknown()
    for ((hint, hasKey, settings) <- Joins; first <- Seq("lat", "lon")) withConf(settings: _*) {
      val on = if (first == "lat") Seq(Lat, Lon) else Seq(Lon, Lat)
      val df = spark.sql(s"SELECT $hint l.id FROM l JOIN r ON ${condition(hasKey, on: _*)}")
      assert(driving(df) == Set(first), executedPlan(df))
    }
  }

  test("what a filter of a side leaves of a range counts", Slow) {
    known()
    val days = "l.day BETWEEN r.day - INTERVAL '5' DAY AND r.day + INTERVAL '5' DAY"
    val few = "day BETWEEN DATE'2024-01-01' AND DATE'2024-01-20'"
    for ((hint, hasKey, settings) <- Joins; engine <- nextEngine)
      withConf(engine ++ settings: _*) {
        def query(filter: String) = spark.sql(
          s"""SELECT $hint l.id, r.id FROM (SELECT * FROM l WHERE $filter) l
          JOIN (SELECT * FROM r WHERE $filter) r ON ${condition(hasKey, Lat, days)}""")
        for ((filter, drives) <- Seq("true" -> "day", few -> "lat")) {
          val df = query(filter)
          assert(driving(df) == Set(drives), executedPlan(df))
          assertSameRows(rows(df), stock(query(filter)), s"$filter ${executedPlan(df)}")
        }
      }
  }

  testOfCases("a sample says which range drives within the buckets, under adaptive execution", 5)(
    for {
      joinType <- BucketTypes
      first <- Seq("lat", "lon")
      engine <- TwoEngines
    } yield (joinType, first, engine)) { cases =>
    unknown()
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
      assertSameRows(found, stock(joinOn(joinType, on)), s"$joinType $on ${executedPlan(df)}")
    }
  }

  testOfCases("a conjunct that raises is asked after those that it is written behind", 5)(
    for (join <- Joins; forced <- Seq(false, true)) yield (join, forced)) { cases =>
    unknown()
    spark.sql("SELECT *, IF(lat >= 1000, 0, 1) AS z FROM (SELECT * FROM l UNION ALL SELECT 0, 0, 5000, 5, DATE'2024-01-01')")
      .createOrReplaceTempView("l")
    val raising = "r.lon BETWEEN l.lon - 1 DIV l.z AND l.lon + 1 DIV l.z"
    for (((hint, hasKey, settings), forced) <- cases; engine <- bothEngines)
      withConf((engine ++ settings :+ (SQLConf.ANSI_ENABLED.key -> "true")): _*) {
        def query = spark.sql(
          s"SELECT $hint l.id, r.id FROM l JOIN r ON ${condition(hasKey, Lat, raising)}")
        // Stock's loops would compute what occurs twice ahead of the condition, and raise.
        val expected =
          withConf(SQLConf.SUBEXPRESSION_ELIMINATION_ENABLED.key -> "false")(stock(query))
        forcing(if (forced) 1 else 0) {
          val df = query
          assertSameRows(rows(df), expected, executedPlan(df).toString)
          if (!settings.exists(_._1 == Buckets))
            assert(driving(df).contains("z") == forced, executedPlan(df))
        }
      }
  }

  /** Has one of the ranges of each join drive it, by its number. */
  private def forcing[T](number: Int)(block: => T): T = {
    object Force extends Rule[LogicalPlan] {
      override def apply(plan: LogicalPlan): LogicalPlan = {
        plan.foreach {
          case join: Join => DrivingRange.force(join, number)
          case _          =>
        }
        plan
      }
    }
    val before = spark.experimental.extraOptimizations
    spark.experimental.extraOptimizations = before :+ Force
    try block
    finally spark.experimental.extraOptimizations = before
  }

  test("random joins with two ranges, either of which drives, beside stock Spark") {
    checkRandom(seed = 20261126, joins = 15)
  }

  test("more random joins with two ranges, either of which drives, beside stock Spark", Slow) {
    checkRandom(seed = 20261125, joins = if (EveryEngine) 400 else 60)
  }

  private def checkRandom(seed: Int, joins: Int): Unit = {
    val random = new Random(seed)
    var others = 0
    for (number <- 0 until joins) {
      val types = Seq.fill(2)(Types(random.nextInt(Types.size)))
      for (name <- Seq("l", "r")) randomTable(random, name, types, 20 + random.nextInt(40))
      val (hint, hasKey, settings) = Joins(random.nextInt(Joins.size))
      val joinType =
        if (hint.isEmpty) BucketTypes(random.nextInt(BucketTypes.size))
        else JoinTypes(random.nextInt(JoinTypes.size))
      val ranges =
        random.shuffle(types.zip(Seq("", "2")).map { case (dataType, s) =>
          randomRange(random, dataType, s)
        })
      val on = condition(hasKey, ranges: _*)
      val ansi = SQLConf.ANSI_ENABLED.key -> random.nextBoolean().toString
      val drives = random.nextInt(3)
      withConf((Engines(random.nextInt(4)) ++ settings :+ ansi): _*) {
        val hinted = if (hint.contains("BROADCAST") || hint.isEmpty) Nil else Seq(hint)
        def query = joinOn(joinType, on)
        val expected = stock(query)
        withConf(
          (if (hint.contains("BROADCAST")) Seq(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB")
           else if (hinted.exists(_.contains("HASH")))
             Seq(SQLConf.PREFER_SORTMERGEJOIN.key -> "false")
           else Nil): _*) {
          forcing(drives) {
            val df = query
            val clue = s"$number $joinType $types $on $ansi $hint $settings $drives"
            val found = rows(df)
            assertSameRows(found, expected, s"$clue\n${executedPlan(df)}")
            others += nodes(df).count(_.condition.exists(_.toString.contains("driven by")))
          }
        }
      }
    }
    assert(others > joins.min(60) / 4)
  }
}
