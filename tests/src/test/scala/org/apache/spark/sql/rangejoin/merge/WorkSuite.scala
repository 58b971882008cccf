// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.merge

import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.kernel.TypesOfLine

/**
 * The work is bounded: `candidates <= output + refused by the residual + rows of both sides`, for
 * every shape of a range and every join type, on data made to defeat it. Almost all rows have one
 * key, so that comparing all with all would be hundreds of times as much.
 */
class WorkSuite extends RangeJoinTest {
  import WorkSuite._

  /** A side of rows from `t` to `u`; one row in fifty has a key of its own. */
  private def side(name: String, interval: Interval): Unit =
    spark.range(Rows).selectExpr(
      "id",
      "if(id % 50 = 49, -id, 0) AS k",
      s"${interval.from} AS t",
      s"${interval.to} AS u",
      "id % 3 AS v"
    ).createOrReplaceTempView(name)

  private def count(joinType: String, condition: String): String = joinType match {
    case "EXISTENCE" =>
      s"SELECT count(*) FROM l WHERE EXISTS (SELECT 1 FROM r WHERE $condition) OR l.id < 0"
    case _ => s"SELECT count(*) FROM l $joinType JOIN r ON $condition"
  }

  /** Runs a join; checks its candidates, and the output of an inner join. */
  private def checkWork(joinType: String, condition: String, pairs: Long, refused: Long): Unit = {
    val sql = count(joinType, condition)
    // The pairs are to be made for the count.
    val makesPairs = RangeJoinConf.AggregatedMatches.key -> "false"
    for (settings <- oneOf(sql)) withConf(settings :+ makesPairs: _*) {
      val df = spark.sql(sql)
      df.collect()
      val metrics = only(rangeJoins(df)).metrics
      val (candidates, output) = (metrics("numCandidates").value, metrics("numOutputRows").value)
      val clue = s"$candidates candidates, $output rows, $pairs pairs, $refused refused: $sql"
      assert(candidates <= output + refused + 2 * Rows, clue)
      assert(candidates <= pairs + refused, clue)
      if (joinType == "INNER") assert(output == pairs, clue)
    }
  }

  /** The pairs that a range joins, and how many of them each residual leaves, by stock. */
  private def pairsOf(range: String, residuals: String*): Seq[Long] =
    withConf(RangeJoinTest.Engines(1) :+ (Flag -> "false"): _*) {
      val counts = ("count(*)" +: residuals.map(r => s"count_if($r)")).mkString(", ")
      val row = spark.sql(s"SELECT $counts FROM l JOIN r ON l.k = r.k AND $range").head()
      row.toSeq.map(_.asInstanceOf[Long])
    }

  for ((data, (left, right)) <- Datasets) {
    testOfCases(s"the work is bounded on $data", 5)(Shapes) { shapes =>
      side("l", left)
      side("r", right)
      for ((range, rest) <- shapes) {
        val residual = s"$rest AND (l.v + r.v) % 3 = 1"
        val counts = pairsOf(range, rest, residual)
        val (inRange, pairs, remaining) = (counts(0), counts(1), counts(2))
        for (joinType <- oneIn(3)(Seq("INNER", "FULL OUTER", "LEFT OUTER"))) {
          checkWork(joinType, s"l.k = r.k AND $range AND $rest", pairs, inRange - pairs)
        }
        for (joinType <- oneIn(4)(Seq("RIGHT OUTER", "LEFT SEMI", "LEFT ANTI", "EXISTENCE"))) {
          val condition = s"l.k = r.k AND $range AND $residual"
          checkWork(joinType, condition, remaining, inRange - remaining)
        }
      }
    }
  }

  test("the work is bounded for open ends that are defaults made of the other side") {
    side("l", Interval("id % 1000", "id % 1000"))
    side("r", Interval("id % 1000", "IF(id % 100 = 7, NULL, id % 1000 + 3)"))
    for (end <- Seq("nvl(r.u, l.t + 1)", "CASE WHEN r.u IS NULL THEN l.t + 1 ELSE r.u END")) {
      val range = s"r.t <= l.t AND $end > l.t"
      checkWork("INNER", s"l.k = r.k AND $range", only(pairsOf(range)), 0)
    }
  }

  test("the work is bounded for the ways in which intervals overlap, joined by OR") {
    val (left, right) = Datasets("long and short intervals in turn")
    side("l", left)
    side("r", right)
    val ways = Seq(
      "l.t BETWEEN r.t AND r.u",
      "l.u BETWEEN r.t AND r.u",
      "(l.t < r.t AND l.u > r.u)").mkString("(", " OR ", ")")
    val pairs = only(pairsOf(ways))
    assert(pairs == only(pairsOf("l.t <= r.u AND r.t <= l.u")))
    for (joinType <- Seq("INNER", "LEFT ANTI"))
      checkWork(joinType, s"l.k = r.k AND $ways", pairs, 0)
  }

  test("the work is bounded for values of which a prefix says nothing") {
    for (value <- Seq(
        "concat('customer/0000/', lpad(cast(t AS STRING), 8, '0'))",
        "cast(lpad(cast(t AS STRING), 20, '0') AS BINARY)",
        "cast(t AS DECIMAL(38, 2)) + 12345678901234567890",
        "concat('A', lpad(cast(t AS STRING), 8, '0')) COLLATE UNICODE_CI",
        "array(1, t)",
        "cast(t AS DOUBLE) / 3"
      ) if TypesOfLine.knows(value)) {
      val (left, right) = Datasets("long and short intervals in turn")
      for ((name, interval) <- Seq("l" -> left, "r" -> right)) {
        side(name, interval)
        val (from, to) = (value, value.replace("(t AS", "(u AS").replace(", t)", ", u)"))
        spark.sql(s"SELECT id, k, v, $from AS t, $to AS u FROM $name WHERE id % 3 <> 1")
          .createOrReplaceTempView(name)
      }
      val range = "l.t <= r.u AND r.t <= l.u"
      val pairs = only(pairsOf(range))
      for (joinType <- Seq("INNER", "FULL OUTER", "LEFT ANTI")) {
        checkWork(joinType, s"l.k = r.k AND $range", pairs, 0)
      }
    }
  }
}

object WorkSuite {
  private val Rows = 300L

  private case class Interval(from: String, to: String)

  /** Ranges, each with what of its condition has no part in the window. */
  private val Shapes = Seq(
    "r.t BETWEEN l.t - 7 AND l.t + 7" -> "true",
    "r.t BETWEEN l.t AND l.u" -> "true",
    "l.t BETWEEN r.t AND r.u" -> "true",
    "l.t <= r.u AND r.t <= l.u" -> "true",
    "r.t >= l.t" -> "true",
    "r.t < l.t" -> "true",
    "l.t <= r.t" -> "l.u <= r.u",
    "r.t <= l.t" -> "r.u < l.u"
  )

  /** Intervals of the left and of the right side, in terms of `id`. */
  private val Datasets: Map[String, (Interval, Interval)] = Map(
    "a staircase" -> (
      Interval("10 * id", "10 * id + 9"),
      Interval("10 * id + 5", "10 * id + 6")
    ),
    "one interval that covers everything, on each side" -> (
      Interval("if(id = 0, 0, 10 * id)", "if(id = 0, 1000000, 10 * id + 3)"),
      Interval("if(id = 0, 0, 10 * id + 5)", "if(id = 0, 1000000, 10 * id + 7)")
    ),
    "long and short intervals in turn" -> (
      Interval("10 * id", "10 * id + if(id % 40 = 0, 3000, 3)"),
      Interval("10 * id + 5", "10 * id + if(id % 40 = 7, 3000, 6)")
    ),
    "ties that all match, and ties that do not" -> (
      Interval("if(id % 4 = 0, 5, 50)", "if(id % 4 = 0, 5, 50)"),
      Interval("if(id % 5 = 0, 5, 500)", "if(id % 5 = 0, 5, 500)")
    ),
    "intervals in no order, some of them inverted" -> (
      Interval("pmod(id * 7919, 10007)", "pmod(id * 104729, 10007)"),
      Interval("pmod(id * 6101, 10007)", "pmod(id * 6101, 10007) + pmod(id, 11) * 30 - 60")
    ),
    "ends that fall while beginnings rise" -> (
      Interval("10 * id", "20000 - 10 * id"),
      Interval("10 * id + 1", "18000 - 10 * id")
    )
  )
}
