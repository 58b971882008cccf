// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.expressions.ScalaUDF
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.{Engines, Settings}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.{SPARK_VERSION, TaskContext}

import org.scalatest.tagobjects.Slow

/** Owners of intervals whose rows are other ones, and longer, when they are read again. */
class GrowingOwnerSuite extends RangePartitioningTest {

  /** A table `r` of points, and a table `t` whose intervals are to begin at `s`. */
  private def views(): Unit = {
    spark.range(1, 161, 1, 4).selectExpr("id", "pmod(hash(id, 5), 2000) AS p")
      .createOrReplaceTempView("r")
    spark.range(1, 201, 1, 4).selectExpr("id", "pmod(hash(id, 3), 2000) AS s")
      .createOrReplaceTempView("t")
    spark.table("r").where("id <= 30").selectExpr("id", "p", "p + 7 AS q").localCheckpoint()
      .createOrReplaceTempView("few")
  }

  /** The intervals, each of a length that an expression gives. */
  private def intervals(length: String): String =
    s"(SELECT id, s, s + $length AS e FROM t) l"

  private val Joined = Seq(
    "SELECT l.id, l.s, r.p FROM %s LEFT JOIN r ON r.p BETWEEN l.s AND l.e",
    "SELECT l.id, l.s FROM %s LEFT SEMI JOIN r ON r.p BETWEEN l.s AND l.e",
    "SELECT l.id, l.s FROM %s LEFT ANTI JOIN r ON r.p BETWEEN l.s AND l.e",
    "SELECT l.id, l.s, r.p FROM r RIGHT JOIN %s ON r.p BETWEEN l.s AND l.e",
    // Neither side is a point: the larger one is the owner.
    "SELECT l.id, l.s, r.id FROM %s JOIN few r ON l.s <= r.q AND l.e >= r.p",
    "SELECT l.id FROM %s WHERE l.id < 9 OR EXISTS (SELECT 1 FROM r WHERE r.p BETWEEN l.s AND l.e)"
  )

  private def join(joined: String, owner: String): DataFrame = spark.sql(joined.format(owner))

  private val ByBuckets: Seq[Settings] = Engines.map(_ ++ Seq(
    Buckets -> "9",
    // A costly owner is written once, and would not be read again.
    InternalConf.WriteOnce.key -> "false",
    SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "-1"
  ))

  /** Every join under one of the four engines. */
  private def inTurn: Seq[(Settings, String)] =
    for ((engine, i) <- ByBuckets.zipWithIndex; (joined, j) <- Joined.zipWithIndex
      if (i + j) % ByBuckets.size == 0)
      yield (engine, joined)

  /** Checks a join whose owner, by the length of its intervals, is longer from a reading on. */
  private def checkGrown(engine: Settings, shortReadings: Int, joined: String)(
      owner: String => String): Unit = {
    def stock(length: String) = rowsOfStock(join(joined, owner(length)))
    GrowingOwnerSuite.begin(shortReadings)
    withConf(engine: _*) {
      val df = join(joined, owner("grown(id)"))
      assert(bucketNodes(df).count(_.isOwner) == 1, executedPlan(df))
      // Before 4.2, Spark may have the function in the condition of an existence join, which evaluates it anew.
      val isReadByJoin =
        nodes[RangeJoinExec](df).exists(_.condition.exists(_.exists(_.isInstanceOf[ScalaUDF])))
      assert(!isReadByJoin || (joined.contains("EXISTS") && SPARK_VERSION < "4.2"))
      if (!isReadByJoin) {
        val found = rows(df)
        // The sample is one reading; what the join has shuffled is the last.
        val readings = GrowingOwnerSuite.readings
        assert(readings == 2, executedPlan(df))
        val last = if (readings > shortReadings) "1000 + id % 5" else "id % 5"
        assertSameRows(found, stock(last), s"$engine\n${executedPlan(df)}")
      }
    }
  }

  private def registerGrown(): Unit = {
    views()
    spark.udf.register("grown", (i: Long) => GrowingOwnerSuite.length(i))
  }

  testOfCases("rows that are longer from the second or the third reading on", 5)(
    for (engine <- ByBuckets; shortReadings <- 1 to 2; joined <- Joined)
      yield (engine, shortReadings, joined)) { cases =>
    registerGrown()
    for ((engine, shortReadings, joined) <- cases)
      checkGrown(engine, shortReadings, joined)(intervals)
  }

  testOfCases("ends that are NULL or NaN, beside others that grow", 5)(inTurn) { cases =>
    registerGrown()
    def withOpenEnds(length: String) =
      s"""(SELECT id, IF(id % 7 = 0, NULL, double(s)) AS s, CASE id % 5 WHEN 0 THEN NULL
         |WHEN 1 THEN double('NaN') ELSE double(s + $length) END AS e FROM t) l""".stripMargin
    for ((engine, joined) <- cases) checkGrown(engine, shortReadings = 1, joined)(withOpenEnds)
  }

  testOfCases("ends that are strings of which a prefix is compared", 5)(inTurn) { cases =>
    registerGrown()
    def text(number: String) = s"concat('a common prefix ', lpad($number, 5, '0'))"
    def owner(length: String) =
      s"(SELECT id, ${text("s")} AS s, ${text(s"s + $length")} AS e FROM t) l"
    spark.table("r").selectExpr("id", s"${text("p")} AS p").createOrReplaceTempView("r")
    spark.table("few").selectExpr("id", s"${text("p")} AS p", s"${text("q")} AS q")
      .createOrReplaceTempView("few")
    for ((engine, joined) <- cases) checkGrown(engine, shortReadings = 1, joined)(owner)
  }

  /** Checks a join whose table has grown between the samples of its joins and its run. */
  private def checkInserted(
      engine: Settings,
      joined: String,
      before: Seq[Int],
      joins: Int,
      grown: String = "1000 + id % 5"): Unit = {
    spark.sql("DROP TABLE IF EXISTS growing")
    spark.sql(
      "CREATE TABLE growing (id LONG, s LONG, e LONG, part INT) USING PARQUET PARTITIONED BY (part)")
    try {
      def insert(part: Int, length: String) = spark.sql(
        s"INSERT INTO growing PARTITION (part = $part) SELECT id, s, s + $length FROM t")
      before.foreach(insert(_, "id % 5"))
      withConf(engine: _*) {
        def owner = "(SELECT id, s, e FROM growing) l"
        val df = join(joined, owner)
        bucketNodes(df).foreach(_.partitioning.get())
        insert(7, grown)
        val found = rows(df)
        assert(bucketNodes(df).count(_.isOwner) == joins, executedPlan(df))
        val expected = rowsOfStock(join(joined, owner))
        assertSameRows(found, expected, s"$engine")
        assert(expected.nonEmpty || joined.contains("ANTI"))
      }
    } finally spark.sql("DROP TABLE growing")
  }

  testOfCases("a partition of longer intervals is inserted when the sample has been drawn", 5)(
    inTurn) { cases =>
    views()
    for ((engine, joined) <- cases)
      checkInserted(engine, joined, before = Seq(1), joins = 1)
  }

  testOfCases("a table that was empty when the sample was drawn", 5)(inTurn) { cases =>
    views()
    for ((engine, joined) <- cases) checkInserted(engine, joined, before = Nil, joins = 1)
  }

  test("a chain of two joins, the owners of both of which grow", Slow) {
    views()
    val chain = "SELECT l.id, l.s, r.p, q.p FROM %s LEFT JOIN r ON r.p BETWEEN l.s AND l.e " +
      "LEFT JOIN few q ON q.p BETWEEN l.s + 3 AND l.e + 3"
    // Longer than a bucket is wide; more so, there would be a million rows.
    for (engine <- Seq(ByBuckets.head, ByBuckets.last))
      checkInserted(engine, chain, before = Seq(1), joins = 2, grown = "250 + id % 5")
  }
}

object GrowingOwnerSuite {

  /** By stage that has evaluated the function, how many did so before. */
  private val stages = new ConcurrentHashMap[Int, Int]()

  @volatile private var shortReadings = 0

  def begin(short: Int): Unit = {
    stages.clear()
    shortReadings = short
  }

  def readings: Int = stages.size

  /** Declared deterministic, which it is not. */
  def length(i: Long): Long = {
    val stage = TaskContext.get().stageId()
    val reading = stages.synchronized {
      { if (!stages.containsKey(stage)) stages.put(stage, stages.size); stages.get(stage) }
    }
    if (reading < shortReadings) i % 5 else 1000 + i % 5
  }
}
