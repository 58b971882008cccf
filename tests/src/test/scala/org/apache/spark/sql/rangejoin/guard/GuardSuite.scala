// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.guard

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.explain.JoinReports
import org.apache.spark.sql.rangejoin.guard.Guard.Part
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.{LogCapture, RangeJoinExplainGenerator, RangeJoinExtensions}

import org.scalatest.tagobjects.Slow

/** A rule that fails on this Spark changes no result. */
class GuardSuite extends OtherExtensions {
  import GuardSuite._

  /** A session with extensions of which some fail. */
  private def withSession[T](failure: Failure)(body: SparkSession => T): T = {
    failing = failure
    withExtensions(classOf[FailingExtensions]) { session =>
      GuardedQueries.Views.foreach(session.sql)
      body(session)
    }
  }

  private def rowsOf(
      session: SparkSession,
      queries: Seq[GuardedQuery] = GuardedQueries.All,
      adaptive: Boolean = true): Seq[Seq[String]] = queries.map(rowsOf(session, _, adaptive))

  private def rowsOf(session: SparkSession, query: GuardedQuery, adaptive: Boolean): Seq[String] = {
    val (settings, sql) = query
    val all = settings :+ (SQLConf.ADAPTIVE_EXECUTION_ENABLED.key -> adaptive.toString)
    all.foreach { case (key, value) => session.conf.set(key, value) }
    rows(session.sql(sql))
  }

  private lazy val expected: Seq[Seq[String]] = withSession(None) { session =>
    session.conf.set(Flag, "false")
    rowsOf(session)
  }

  private lazy val parts: Seq[String] = withSession(None) { session =>
    seen.clear()
    assert(rowsOf(session) == expected)
    seen.toSeq.sorted
  }

  private def warningsOf(block: => Unit): Seq[String] =
    LogCapture.messages("org.apache.spark.sql.rangejoin.guard")(block)
      .filter(_.startsWith("spark-range-join: "))

  test("every rule is applied by the queries") {
    assert(parts.size == 20, parts)
    assert(Guarded.Mark.needs.forall(parts.contains))
  }

  // Of each rule every third query, in every second turn without adaptive execution, which some rules are for.
  for (turn <- 0 until 3)
    test(
      s"whatever rule cannot be linked, rows are stock's, in turn $turn",
      slowIf(turn > 0): _*) {
      for ((part, i) <- parts.zipWithIndex) {
        def third[T](all: Seq[T]) =
          all.zipWithIndex.collect { case (one, j) if (i + j + turn) % 3 == 0 => one }
        val adaptive = (i + turn) % 2 == 0
        var switchedOff = 0
        val warnings = warningsOf {
          withSession(Some(part -> (() => throw new NoSuchMethodError("gone")))) { session =>
            val found = rowsOf(session, third(GuardedQueries.All), adaptive)
            assert(found == third(expected), s"without $part")
            switchedOff = Guard.of(session).switchedOff.size
          }
        }
        assert(switchedOff == 1 || !adaptive && switchedOff == 0, part)
        assert(warnings.size == switchedOff, s"$part: $warnings")
        assert(warnings.forall(w => w.contains(part) && w.contains("gone")))
      }
    }

  test("a rule may fail later on, at any of the plans that it is applied to", Slow) {
    val allTimes = Seq(2, 3, 5, 9, 14)
    val queries = GuardedQueries.All.zip(expected)
    // From another query on for each rule, until the rule is off, and one query more.
    for ((part, i) <- parts.zipWithIndex; turn <- 0 to 1) {
      val times = allTimes((i + 2 * turn) % allTimes.size)
      var count = 0
      def fail(): Unit = {
        count += 1
        if (count % times == 0) throw new MatchError("a node of another Spark")
      }
      withSession(Some(part -> (() => fail()))) { session =>
        val (later, first) = queries.splitAt((i + 3 * turn) % queries.size)
        var left = 2
        for (((query, wanted), j) <- (first ++ later).zipWithIndex if left > 0) {
          val clue = s"$part fails the ${times}th time, in $query"
          val actual =
            try rowsOf(session, query, adaptive = (i + j) % 4 != 0)
            catch { case e: IllegalStateException => throw new AssertionError(clue, e) }
          assert(actual == wanted, clue)
          if (Guard.of(session).switchedOff.nonEmpty) left -= 1
        }
        assert(count < times || left < 2, s"$part failed and is not off")
      }
    }
  }

  test("another session is not concerned") {
    withSession(Some("plan.PlaceRangeJoins" -> (() => throw new NoClassDefFoundError("gone")))) {
      session =>
        session.sql(GuardedQueries.All.head._2).collect()
        assert(Guard.of(session).switchedOff.size == 1)
    }
    assert(Guard.of(spark).switchedOff == Nil)
    withSession(None)(session => assert(Guard.of(session).switchedOff == Nil))
  }

  test("what marks joins is off where what puts them in place is, and EXPLAIN says why") {
    withSession(Some("plan.PlaceRangeJoins" -> (() => throw new NoClassDefFoundError("gone")))) {
      session =>
        rowsOf(session)
        assert(Guard.of(session).whyOff(Guarded.Mark).isDefined)
        assert(Guard.of(session).whyOff(Guarded.Rewrite).isDefined)
        val (settings, query) = GuardedQueries.All.head
        settings.foreach { case (key, value) => session.conf.set(key, value) }
        val plan = session.sql(query).queryExecution.executedPlan
        val report = only(JoinReports.of(plan))
        assert(report.reason.exists(r => r.message.contains("gone") && r.remedy.isDefined))
        assert(report.advice.exists(_.contains(s"plan.PlaceRangeJoins ${Guard.SwitchedOff}")))
        val explained = new RangeJoinExplainGenerator().generateExtendedInfo(plan)
        assert(explained.contains(Guard.SwitchedOff) && explained.contains("gone"))
    }
  }

  test("all other errors pass") {
    for (error <- Seq(new OutOfMemoryError("full"), new IllegalStateException("wrong"))) {
      var isFailing = false
      withSession(Some("plan.MarkRangeJoins" -> (() => if (isFailing) throw error))) { session =>
        isFailing = true
        val (_, query) = GuardedQueries.All.head
        val raised = intercept[Throwable](session.sql(query).collect())
        assert(causes(raised).exists(_.eq(error)))
        assert(Guard.of(session).switchedOff == Nil)
      }
    }
  }

  test("what says something of a plan says nothing where it fails") {
    withSession(None) { session =>
      val warnings = warningsOf {
        for (_ <- 1 to 2)
          assert(Guarded.report(session, "[]")(throw new NoSuchFieldError("gone")) == "[]")
      }
      assert(warnings.size == 1 && warnings.head.contains("explain.JoinReports"))
    }
  }
}

object GuardSuite {

  private type GuardedQuery = (GuardedQueries.Settings, String)

  /** The name of a part, and what it does whenever it is applied. */
  type Failure = Option[(String, () => Unit)]

  @volatile var failing: Failure = None

  /** The parts that have been applied. */
  val seen: mutable.Set[String] = mutable.Set.empty

  class FailingExtensions extends RangeJoinExtensions {
    private val failure = failing

    private def applied(part: Part): Unit = {
      seen.synchronized(seen += part.name)
      failure.filter(_._1 == part.name).foreach(_._2())
    }

    override protected def made: (Part, () => AnyRef) => AnyRef = (part, rule) =>
      rule() match {
        case strategy: SparkStrategy => new SparkStrategy {
            override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
              applied(part)
              strategy(plan)
            }
          }
        case other => new Failing(other.asInstanceOf[Rule[LogicalPlan]], () => applied(part))
      }
  }

  private class Failing[P <: TreeNode[P]](rule: Rule[P], applied: () => Unit) extends Rule[P] {
    override def apply(plan: P): P = {
      applied()
      rule(plan)
    }
  }
}
