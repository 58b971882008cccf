// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.debug.codegenStringSeq
import org.apache.spark.sql.functions._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.index.RangeCursor

/** The loop that [[BroadcastRangeJoinCodegen]] emits, and that it is the one of [[IndexScanner]]. */
class BroadcastCodegenSuite extends BroadcastTables {
  import BroadcastCodegenSuite._

  private val joinTypes = Seq("inner", "left", "left_semi", "left_anti")

  private val ranges = Seq(
    "a band" -> within,
    "one direction" -> "l.t < r.t",
    "intervals" -> "l.t <= r.t + r.k AND r.t <= l.t + 3",
    "strings" -> "l.s >= r.s AND l.s <= concat(r.s, 'x')",
    "a bound that may be NULL" -> "r.t >= l.t - 2 AND r.t <= l.t + 100 div (l.id - 5)"
  )

  private def named(rows: DataFrame): DataFrame =
    rows.withColumn("s", concat(lit("a long prefix "), col("t")))

  private def joined(range: String, joinType: String): DataFrame =
    named(l).as("l").join(
      named(r).as("r").hint("broadcast"),
      expr(s"l.k = r.k AND $range AND l.id * 7654321 > r.id"),
      joinType)

  private def examined(df: DataFrame): (Seq[String], Long) = {
    val result = rows(df)
    (result, only(broadcastJoins(df)).metrics("numCandidates").value)
  }

  for ((name, range) <- ranges) test(
    s"both loops examine the same candidates: $name",
    slowIf(name != "intervals"): _*) {
    for (joinType <- joinTypes; linearScanThreshold <- Seq("0", "1000")) {
      withConf(
        InternalConf.LinearScanThreshold.key -> linearScanThreshold,
        SQLConf.ANSI_ENABLED.key -> "false",
        adaptive(false)) {
        def df = joined(range, joinType)
        val Seq(generated, interpreted) =
          Seq(RangeJoinTest.Engines.head, RangeJoinTest.Engines.last)
            .map(engine => withConf(engine :+ adaptive(false): _*)(examined(df))): @unchecked
        assert(generated._2 == interpreted._2, s"$joinType, $linearScanThreshold")
        assertSameRows(generated._1, interpreted._1, joinType)
        assertSameRows(generated._1, expected(df), joinType)
        assert(generated._2 > 0)
      }
    }
  }

  test("the residual is evaluated once for a pair that the bounds leave undecided") {
    for (joinType <- Seq("inner", "left", "left_anti"); engine <- RangeJoinTest.TwoEngines) {
      val refuse = udf { (t: Long) =>
        Evaluations.incrementAndGet()
        t < 0
      }
      def evaluations(df: => DataFrame): Long = {
        Evaluations.set(0)
        rows(df)
        Evaluations.get
      }
      withConf(engine :+ adaptive(false) :+ (InternalConf.LinearScanThreshold.key -> "1000"): _*) {
        def df = l.join(r.hint("broadcast"), band && refuse(col("r.t") + col("l.t")), joinType)
        val found = evaluations(df)
        assert(found > 0 && found == withConf(Flag -> "false")(evaluations(df)), joinType)
        assert(broadcastJoins(df).size == 1)
      }
    }
  }

  private def source(range: String, joinType: String): String = withConf(adaptive(false)) {
    only(codegenStringSeq(executedPlan(joined(range, joinType))).map(_._2)
      .filter(_.contains(classOf[RangeCursor].getName)))
  }

  private def count(text: String, part: String): Int = text.split(part, -1).length - 1

  test("the residual is there once, for pairs of either kind") {
    for (joinType <- joinTypes) {
      val code = source(within, joinType)
      assert(count(code, "7654321L") == 1, joinType)
      assert(count(code, "isUndecided\\(\\)") == 1, joinType)
    }
  }

  test("bounds are evaluated in a method of their own, where the search is") {
    val code = source(within, "inner")
    assert(code.contains("private void "))
    assert(count(code, "\\.search\\(") == 1)
    val method = code.split("private void \\w*search_\\d+\\(", 2).last
    assert(method.contains(".search(") && method.contains("rethrowUnlessOfData"))
  }

  test("a search asks of rows only where bounds are prefixes") {
    assert(count(source(within, "inner"), "\\.asks\\(\\)") == 0)
    assert(count(source(ranges(3)._2, "inner"), "\\.asks\\(\\)") == 1)
  }

  test("errors are kept where one match is enough, and there alone") {
    for (joinType <- joinTypes) {
      val keeps = source(within, joinType).contains(".keep(")
      assert(keeps == joinType.startsWith("left_"), joinType)
    }
  }
}

object BroadcastCodegenSuite {

  /** How often a residual was evaluated, in a local session. */
  private val Evaluations = new AtomicLong
}
