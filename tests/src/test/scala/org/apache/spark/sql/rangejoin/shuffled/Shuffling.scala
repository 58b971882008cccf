// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.rangejoin.RangeJoinTest
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.semantics.SemanticsTest

import org.scalatest.Outcome

/**
 * Runs the tests of a suite where Spark builds a hash table of one side of every join. Every group of rows
 * is searched, or those that are worth it, or both sides are sorted: by the case.
 */
trait Shuffling extends RangeJoinTest {

  override protected def withFixture(test: NoArgTest): Outcome = {
    val before = spark.experimental.extraOptimizations
    spark.experimental.extraOptimizations = before :+ Shuffling.HashEveryJoin
    try super.withFixture(test)
    finally spark.experimental.extraOptimizations = before
  }

  override protected def oneOf(test: String): Seq[Settings] =
    super.oneOf(test).map(_ ++ Shuffling.ways(Math.floorMod(
      test.hashCode / 31,
      Shuffling.ways.size)))

  override protected def bothEngines: Seq[Settings] =
    super.bothEngines.zip(Shuffling.ways).map { case (engine, way) => engine ++ way }
}

object Shuffling {

  /** How groups of rows are found: each is searched; large ones are; both sides are sorted. */
  val ways: Seq[Settings] = Seq(
    Seq(InternalConf.LinearScanThreshold.key -> "0"),
    Seq(InternalConf.IndexLimit.key -> "0"),
    Nil)

  /** Asks for a shuffled hash join by hints, which build the left side where they can for half of them. */
  private object HashEveryJoin extends Rule[LogicalPlan] {
    private val hash = Some(HintInfo(Some(SHUFFLE_HASH)))

    override def apply(plan: LogicalPlan): LogicalPlan = plan.transform {
      case join @ Join(_, _, joinType, Some(condition), JoinHint.NONE) =>
        val mayBeLeft = joinType match {
          case _: InnerLike | LeftOuter | RightOuter | FullOuter => true
          case _                                                 => false
        }
        // Without the numbers of columns, which differ from run to run.
        val buildsLeft = mayBeLeft && s"${condition.sql}$joinType".hashCode % 2 == 0
        join.copy(hint = if (buildsLeft) JoinHint(hash, None) else JoinHint(None, hash))
    }
  }
}

/**
 * The same for the rules of meaning; each case under one engine, and half of the join types of each, for
 * there are many. Where the rows are written down stock Spark is not asked again: the suite that is
 * repeated here has done so.
 */
trait ShuffledSemantics extends SemanticsTest with Shuffling {
  override protected def repeatsTests: Boolean = true

  override protected def bothEngines: Seq[Settings] = nextEngine

  override protected def check(range: String, joinTypes: Seq[String])(pairs: (Int, Int)*): Unit = {
    def isMine(joinType: String): Boolean = RangeJoinTest.EveryEngine ||
      s"$range$joinType${spark.table("r").schema.sql}".hashCode % 2 == 0
    super.check(range, joinTypes.filter(isMine))(pairs: _*)
  }

  override protected def checkRows(
      query: => DataFrame,
      written: Seq[String],
      engines: Seq[Settings]): Unit =
    if (RangeJoinTest.EveryEngine) super.checkRows(query, written, engines)
    else checkRangeJoins(query, written, 1, engines)
}
