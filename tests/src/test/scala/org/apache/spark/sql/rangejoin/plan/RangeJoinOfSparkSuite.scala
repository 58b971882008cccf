// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.adaptive.LogicalQueryStageStrategy
import org.apache.spark.sql.execution.joins.{
  BroadcastNestedLoopJoinExec,
  BroadcastRangeJoinExec => RangeJoinOfSpark
}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.guard.Guard.Part
import org.apache.spark.sql.rangejoin.guard.OtherExtensions
import org.apache.spark.sql.rangejoin.join.RangeJoinExec
import org.apache.spark.sql.rangejoin.shims.ClassicSession
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.{RangeJoinExtensions, RangeJoinMetrics}
import org.apache.spark.sql.{DataFrame, SparkSessionExtensions}

/**
 * Beside a Spark that has a range join of its own (proposed as pull request 59027), of the name that ours has: where that
 * takes the place of a nested loop it stays, all other joins are ours, and rows are right either way.
 */
class RangeJoinOfSparkSuite extends OtherExtensions {
  import RangeJoinOfSparkSuite._

  private val Tables = Seq(
    "CREATE OR REPLACE TEMP VIEW p AS SELECT * FROM VALUES (1, -3), (2, 1), (3, 3), (4, 6), (5, NULL) AS p(id, x)",
    "CREATE OR REPLACE TEMP VIEW i AS SELECT * FROM VALUES (1, -1, 0), (2, 0, 1), (3, 0, 2), (2, 1, 5), " +
      "(5, 4, 1), (1, NULL, 9), (2, 0, NULL), (3, 0, 2) AS i(id, lo, hi)"
  )

  private def withTables[T](body: SparkSession => T): T =
    withExtensions(classOf[ExtensionsBesideSparks]) { session =>
      Tables.foreach(session.sql)
      session.conf.set(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key, "10MB")
      body(session)
    }

  private def nodesOf(df: DataFrame): (Seq[RangeJoinOfSpark], Seq[RangeJoinExec]) = {
    val plan = executedPlan(df)
    collect(plan) { case join: RangeJoinOfSpark => join } -> collect(plan) {
      case join: RangeJoinExec => join
    }
  }

  /** @param isOurs whether the join is one of ours */
  private def check(session: SparkSession, isOurs: Boolean)(query: String): Unit = {
    val expected = {
      session.conf.set(Flag, "false")
      // The hint asks for a range join whatever the settings are.
      val stock = session.sql(query.replace("/*+ RANGE_JOIN(i) */", ""))
      assert(nodesOf(stock)._2 == Nil)
      rows(stock)
    }
    for (adaptive <- Seq("true", "false")) {
      session.conf.set(Flag, "true")
      session.conf.set(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key, adaptive)
      val df = session.sql(query)
      val (sparks, ours) = nodesOf(df)
      assert(
        (sparks.size, ours.size) == (if (isOurs) (0, 1) else (1, 0)),
        s"$query\n${executedPlan(df)}")
      assertSameRows(rows(df), expected, query)
    }
  }

  private val InRange = Seq(
    "p.x BETWEEN i.lo AND i.hi",
    "p.x < i.hi AND p.x >= i.lo",
    "i.lo < p.x AND i.hi > p.x AND p.id <> i.id"
  )

  test("where Spark has its own range join in the place of a nested loop, it stays") {
    withTables { session =>
      for {
        condition <- InRange
        join <- Seq("JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
      } check(session, isOurs = false)(s"SELECT * FROM p $join i ON $condition")
      for (side <- Seq("a", "b"))
        check(session, isOurs = false)(
          s"SELECT /*+ BROADCAST($side) */ * FROM i a JOIN i b ON a.lo < b.hi AND b.lo < a.hi")
      check(session, isOurs = false)("SELECT * FROM i a LEFT JOIN i b ON a.hi < b.lo")
      check(
        session,
        isOurs = false)("SELECT p.id, count(*) FROM p JOIN i ON p.x >= i.lo GROUP BY p.id")
      check(session, isOurs = false)("SELECT * FROM p JOIN i ON p.x >= i.lo ORDER BY ALL LIMIT 3")
    }
  }

  test("what it does not take is ours") {
    withTables { session =>
      for (condition <- InRange)
        check(session, isOurs = true)(s"SELECT * FROM p FULL JOIN i ON $condition")
      check(
        session,
        isOurs = true)("SELECT * FROM p JOIN i ON p.id = i.id AND p.x BETWEEN i.lo AND i.hi")
      check(
        session,
        isOurs = true)("SELECT /*+ RANGE_JOIN(i) */ * FROM p JOIN i ON p.x BETWEEN i.lo AND i.hi")
      session.conf.set(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key, "-1")
      check(session, isOurs = true)("SELECT * FROM p JOIN i ON p.x BETWEEN i.lo AND i.hi")
    }
  }

  test("both of one name in a plan are told apart") {
    withTables { session =>
      val df = session.sql(
        "SELECT * FROM p JOIN i ON p.id = i.id AND p.x BETWEEN i.lo AND i.hi LEFT JOIN i AS j ON p.x < j.lo")
      val plan = executedPlan(df)
      val reports = JoinReports.of(plan)
      assert(reports.map(_.operator) == Seq("BroadcastRangeJoin", "BroadcastRangeJoin"))
      assert(reports.map(_.reason) == Seq(Some(Reason.RangeJoinOfSpark), None))
      // What it has for keys is not equal.
      assert(reports.map(_.keys.size) == Seq(0, 1))
      assert(collect(plan) { case join: BroadcastRangeJoinExec => join }.size == 1)
      df.collect()
      assert(RangeJoinMetrics.json(execution(df)).split("numCandidates").length == 2)
    }
  }
}

object RangeJoinOfSparkSuite {

  class ExtensionsBesideSparks extends RangeJoinExtensions {

    override protected def made: (Part, () => AnyRef) => AnyRef = {
      case (Part("plan.MarkRangeJoins", _), rule) =>
        new MarkRangeJoins(rule().asInstanceOf[MarkRangeJoins].session) {
          override protected def selected(join: Join): Seq[SparkPlan] =
            RangeJoinsOfSpark.in(super.selected(join))
        }
      case (_, rule) => rule()
    }

    override def apply(extensions: SparkSessionExtensions): Unit = {
      super.apply(extensions)
      extensions.injectPlannerStrategy(session => RangeJoinsOfSpark(ClassicSession.of(session)))
    }
  }

  /** Plans it where Spark's planner would have a nested loop. */
  private case class RangeJoinsOfSpark(session: SparkSession) extends SparkStrategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case join: Join if LogicalQueryStageStrategy(join).isEmpty =>
        val planned = session.sessionState.planner.JoinSelection(join)
        val replaced = RangeJoinsOfSpark.in(planned)
        if (replaced == planned) Nil else replaced
      case _ => Nil
    }
  }

  private object RangeJoinsOfSpark {
    def in(planned: Seq[SparkPlan]): Seq[SparkPlan] = planned.map {
      case BroadcastNestedLoopJoinExec(left, right, build, joinType, condition)
          if condition.isDefined && joinType != FullOuter =>
        val keys = condition.toSeq.flatMap(_.references.toSeq)
        RangeJoinOfSpark(
          keys.filter(left.outputSet.contains).take(1),
          keys.filter(right.outputSet.contains).take(1),
          joinType,
          build,
          condition,
          left,
          right)
      case other => other
    }
  }
}
