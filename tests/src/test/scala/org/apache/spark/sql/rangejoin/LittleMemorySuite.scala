// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.{SortExec, SparkScriptTransformationExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

import org.scalatest.BeforeAndAfterAll
import org.scalatest.tagobjects.Slow

/**
 * Joins of tasks that have 2.4 MB of memory each, so that operators ask one another for it all the
 * time. In a session and a JVM of their own: what memory there is cannot be changed in a session.
 */
class LittleMemorySuite extends RangeJoinTest with BeforeAndAfterAll {
  import LittleMemorySuite._

  /** What an index may take beside the memory there is. */
  protected def indexLimit: String = "1g"

  protected def memory: RangeJoinTest.Settings = Seq(
    "spark.testing.memory" -> (Memory * 10 / 6).toString,
    "spark.testing.reservedMemory" -> "0"
  )

  override protected lazy val spark: SparkSession =
    TestSession.builder(("spark.buffer.pageSize" -> "64k") +: memory).getOrCreate()

  override protected def afterAll(): Unit = spark.stop()

  private def side(name: String, rows: Int = Rows): Unit =
    spark.range(0, rows, 1, 2)
      .selectExpr("id", s"id % $Keys AS k", s"id div $Keys AS t")
      .createOrReplaceTempView(name)

  /** A sort asks for memory in the task's thread while another feeds a script from the join. */
  private def sortedOutputOfScript: DataFrame = spark.sql(
    s"""SELECT TRANSFORM(a, b) USING 'cat' AS (a BIGINT, b BIGINT) FROM (
       |  SELECT l.id AS a, r.id AS b FROM l JOIN r
       |  ON l.k = r.k AND r.t BETWEEN l.t - 1000 AND l.t + 1000 AND hash(l.id, r.id) % 4 = 0
       |)""".stripMargin).sortWithinPartitions("b", "a")

  private val Near = "l.k = r.k AND r.t BETWEEN l.t - 3 AND l.t + 3"

  private val Joined = Seq("INNER", "LEFT", "FULL", "LEFT SEMI", "LEFT ANTI").map { joinType =>
    s"SELECT * FROM l $joinType JOIN r ON $Near AND hash(l.id, r.id) % 2 = 0"
  }

  private val Hashed = Seq("INNER", "FULL", "LEFT ANTI").map { joinType =>
    s"SELECT /*+ SHUFFLE_HASH(r) */ * FROM l $joinType JOIN r ON $Near AND hash(l.id, r.id) % 2 = 0"
  }

  testOfCases("joins of every kind, sorted and spilled", 6)(Joined ++ Hashed) { queries =>
    side("l", SomeRows)
    side("r", SomeRows)
    for (sql <- queries) {
      checkAgainstStock(spark.sql(sql), engines = RangeJoinTest.TwoEngines)
      withConf(RangeJoinTest.spillingFrom(3): _*) {
        checkAgainstStock(spark.sql(sql), engines = RangeJoinTest.TwoEngines.take(1))
      }
    }
    val broadcast = s"SELECT /*+ BROADCAST(r) */ * FROM l LEFT JOIN r ON $Near"
    checkAgainstStock(spark.sql(broadcast), engines = RangeJoinTest.TwoEngines)
  }

  test("one skewed key, of which there is no memory for an index", Slow) {
    for (name <- Seq("l", "r")) {
      spark.range(0, Rows, 1, 2).selectExpr("id", "id % 1 AS k", "id AS t", "repeat('x', 60) AS p")
        .createOrReplaceTempView(name)
    }
    // Stock's relation of the key does not fit, and its join would look at every pair.
    for (joinType <- Seq("INNER", "FULL"); settings <- RangeJoinTest.TwoEngines) {
      withConf(settings :+ (InternalConf.IndexLimit.key -> indexLimit): _*) {
        val df = spark.sql(s"SELECT /*+ SHUFFLE_HASH(r) */ count(*), sum(r.t - l.t), max(r.p) " +
          s"FROM l $joinType JOIN r ON l.k = r.k AND r.t BETWEEN l.t + 1 AND l.t + 2")
        val pairs = 2L * Rows - 3
        val all = if (joinType == "FULL") pairs + 2 else pairs
        assert(rows(df) == Seq(s"$all|${3L * Rows - 5}|${"x" * 60}"))
        val metrics = only(shuffledJoins(df)).metrics
        assert(metrics("sortedPartitions").value == 1 && metrics("spillSize").value > 0)
      }
    }
  }

  test("a script is fed by another thread than the one that sorts what it puts out", Slow) {
    side("l")
    side("r")
    withConf(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> "false") {
      val expected = withConf(Flag -> "false")(rows(sortedOutputOfScript))
      assert(expected.size > Rows)
      val spilled = for (_ <- 1 to 3) yield {
        val df = sortedOutputOfScript
        assert(collect(executedPlan(df)) { case s: SparkScriptTransformationExec => s }.size == 1)
        assertPlanned(df, 1, Nil)
        assertSameRows(rows(df), expected, "")
        // That of the output. It gives up memory of its own after it has asked all others for theirs.
        val sort = executedPlan(df).collectFirst { case sort: SortExec => sort }.get
        assert(only(rangeJoins(df)).metrics("peakMemory").value > 0)
        sort.metrics("spillSize").value
      }
      assert(spilled.sum > 0, "no memory was asked for")
    }
  }
}

/** Likewise, off the heap. */
class OffHeapLittleMemorySuite extends LittleMemorySuite {
  override protected def repeatsTests: Boolean = true

  // An index is on the heap, of which there is enough.
  override protected def indexLimit: String = "2m"

  override protected def memory: RangeJoinTest.Settings = Seq(
    "spark.memory.offHeap.enabled" -> "true",
    "spark.memory.offHeap.size" -> LittleMemorySuite.Memory.toString
  )
}

object LittleMemorySuite {

  /** Of two tasks, in bytes. */
  val Memory: Long = 4800000L
  private val Rows = 60000
  private val SomeRows = 6000
  private val Keys = Rows / 20
}
