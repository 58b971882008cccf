// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadExec
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, SortMergeJoinExec}
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest

/** Broadcast range joins in plans that are made while the query runs. */
class BroadcastAdaptiveSuite extends BroadcastTables {

  override protected def hasOneEngine: Boolean = true

  /** Small sides are broadcast only once their size is known. */
  private def withBroadcastsWhileRunning(body: => Unit): Unit = withConf(
    adaptive(true),
    Threshold -> "-1",
    SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB"
  )(body)

  /** A sort-merge join beside a broadcast range join becomes a broadcast join while the query runs. */
  private def assertPlannedAgain(df: => DataFrame, clue: String): Unit = {
    val query = df
    assert(broadcastJoins(query).size == 1, executedPlan(query))
    assert(nodes[SortMergeJoinExec](query).size == 1, executedPlan(query))
    assertSameRows(rows(query), expected(df), clue)
    assert(broadcastJoins(query).size == 1, executedPlan(query))
    assert(nodes[SortMergeJoinExec](query).isEmpty, executedPlan(query))
    assert(nodes[BroadcastHashJoinExec](query).size == 1, executedPlan(query))
  }

  test("adaptive execution turns a sort-merge range join into a broadcast range join") {
    withBroadcastsWhileRunning {
      for (joinType <- Seq("inner", "left", "left_semi", "left_anti")) {
        val df = l.join(r, band, joinType)
        assert(rangeJoins(df).size == 1 && broadcastJoins(df).isEmpty)
        assertSameRows(rows(df), expected(l.join(r, band, joinType)), joinType)
        assert(rangeJoins(df).isEmpty && broadcastJoins(df).size == 1, executedPlan(df))
      }
    }
  }

  test("a join over a finished broadcast is planned again with the rest of the query") {
    withBroadcastsWhileRunning {
      for (on <- Seq(band, keyless); joinType <- Seq("inner", "left", "left_semi")) {
        // The outer join is turned into a broadcast join once the inner broadcast has been planned.
        def df = l.join(r.hint("broadcast"), on, joinType).select("l.id", "l.k", "l.t").as("a")
          .join(table(90, 6).as("x"), expr("a.id = x.id"))
        assertPlannedAgain(df, joinType)
      }
    }
  }

  test("what is joined below an unfinished range join is planned again") {
    withBroadcastsWhileRunning {
      val most = "(SELECT max(k) FROM r)"
      r.createOrReplaceTempView("r")
      for (on <- Seq(band, keyless, expr(s"r.t <= l.t + $most AND l.t <= r.t"))) {
        // The sort-merge join becomes a broadcast join while the index is a stage already.
        def df = l.join(table(90, 6).as("x"), expr("l.id = x.id")).select("l.id", "l.k", "l.t")
          .as("l").join(r.hint("broadcast"), on)
        assertPlannedAgain(df, s"$on")
      }
    }
  }

  test("a shuffled side is read where it was written") {
    withBroadcastsWhileRunning {
      for (joinType <- Seq("inner", "left", "left_semi")) {
        def df = l.join(r, band, joinType)
        def localReads(df: DataFrame) = nodes[AQEShuffleReadExec](df).count(_.isLocalRead)
        val (ours, stock) = (df, df)
        assertSameRows(rows(ours), expected(df), joinType)
        withConf(Flag -> "false")(rows(stock))
        assert(broadcastJoins(ours).size == 1)
        assert(localReads(ours) > 0 && localReads(ours) == localReads(stock))
      }
    }
  }

  test("keys of the streamed side are not evaluated for a side without rows") {
    withConf(SQLConf.ANSI_ENABLED.key -> "true") {
      val none = table(150, 2).where("id * 2 > 900").as("r").hint("broadcast")
      val raising = expr(s"l.id div (l.k - l.k) = r.k and $within")
      for (engine <- RangeJoinTest.Engines; joinType <- Seq("inner", "left_semi", "left_anti")) {
        withConf(engine: _*) {
          val df = l.join(none, raising, joinType)
          assert(broadcastJoins(df).size == 1)
          assertSameRows(rows(df), expected(l.join(none, raising, joinType)), joinType)
        }
      }
    }
  }
}
