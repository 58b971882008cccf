// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest._

/** What suites of joins by buckets of a range share: every join under several numbers of buckets. */
trait BucketsTest extends SemanticsTest {

  /** The setting that says how many buckets there are. */
  protected def Buckets: String

  /** The join types whose rows can be in buckets. */
  protected val BucketTypes: Seq[String] = JoinTypes.filter(_ != FullOuter)

  /** Values of a BIGINT `p` about the ends of the type and about 0. */
  protected val Extremes: Seq[String] = {
    val max = Long.MaxValue
    Seq(s"$max", s"${max - 1}", s"${-max}", s"${-max} - 1", "0", "1", "-1", "NULL", "5", "6")
  }

  /** Whether under ANSI mode, a condition of which bounds overflow or raise for some of these, and a join type. */
  protected def unknownBounds(more: String*): Seq[(Boolean, String, String)] = for {
    ansi <- Seq(true, false)
    condition <- Seq(
      "r.p BETWEEN l.p - 2 AND l.p + 2",
      "l.p BETWEEN r.p - 2 AND r.p + 2",
      "abs(l.p - r.p) <= 2",
      "r.p BETWEEN 10 DIV l.p AND l.p") ++ more
    joinType <- Seq(Inner, RightOuter, LeftAnti)
  } yield (ansi, condition, joinType)

  /**
   * Tables of sums that are one expression for Spark, whose canonical form has terms in another order, and two
   * numbers: the value of the other side is the greater one.
   *
   * @return the range that has it between both
   */
  protected def sumsInTwoOrders(): String = {
    val numbers =
      (0 until 600).map(i => (i, 0.1 * (1 + i % 97), 0.2 * (1 + i % 91), 0.3 * (1 + i % 83)))
    val greater = numbers.collect {
      case (i, a, b, c) if (a + b) + c != (c + b) + a =>
        (i, 0, math.max((a + b) + c, (c + b) + a))
    }
    assert(greater.size > 50)
    spark.createDataFrame(numbers.map { case (i, a, b, c) => (i, 0, a, b, c) })
      .toDF("id", "k", "a", "b", "c").createOrReplaceTempView("l")
    spark.createDataFrame(greater).toDF("id", "k", "v").createOrReplaceTempView("r")
    "(l.a + l.b) + l.c <= r.v AND (l.c + l.b) + l.a >= r.v"
  }

  /**
   * Compares with stock under several numbers of buckets, each with one of the engines.
   *
   * @param run gives the rows of a query under these settings, whose plan it looks at
   */
  protected def checkBuckets(
      query: => DataFrame,
      joins: Int,
      counts: Seq[Int],
      settings: Settings,
      engines: Seq[Settings]
  )(run: (DataFrame, Settings) => Seq[String]): Int = {
    val expected = withConf(settings ++ RangeJoinTest.Oracle: _*)(rows(query))
    counts.zipWithIndex.foreach { case (count, i) =>
      val engine = engines(Math.floorMod(expected.hashCode + i, engines.size))
      withConf((engine ++ settings) :+ (Buckets -> count.toString): _*) {
        val df = query
        assert(rangeJoins(df).size == joins, executedPlan(df))
        val found = run(df, engine ++ settings)
        assertSameRows(found, expected, s"under $count buckets, $engine\n${executedPlan(df)}")
      }
    }
    expected.size
  }
}
