// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin

import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinTest.Settings
import org.apache.spark.sql.rangejoin.conf.InternalConf

/**
 * How Spark plans the joins of a test, where it has a choice: a suite has a test for each form and each law.
 *
 * @param settings what all tests of it run with
 * @param ways settings of which each case has one
 * @param rule what is added to the optimizer
 * @param hasKey whether Spark finds a key
 * @param small the side whose size alone is known
 */
case class PlanForm(
    name: String,
    settings: Settings = Nil,
    ways: Seq[Settings] = Seq(Nil),
    rule: Option[Rule[LogicalPlan]] = None,
    hasKey: Boolean = true,
    small: Option[String] = None) {

  override def toString: String = name

  def way(test: String): Settings = ways(Math.floorMod(test.hashCode / 31, ways.size))
}

object PlanForm {

  /** Both sides sorted, as Spark plans it for sides that are large. */
  val Merged: PlanForm = PlanForm("merged")

  /** Likewise, with all but seven rows of a window on disk. */
  val Spilled: PlanForm = Merged.copy(name = "spilled", settings = RangeJoinTest.spillingFrom(7))

  /** A side is broadcast, and every group of rows is searched, by two ranges if it can. */
  val Broadcast: PlanForm = PlanForm(
    "broadcast",
    Seq(
      SQLConf.AUTO_BROADCASTJOIN_THRESHOLD.key -> "10MB",
      InternalConf.LinearScanThreshold.key -> "0",
      InternalConf.SecondRangeThreshold.key -> "1")
  )

  /** As a range beside a key, but so that Spark finds no key. */
  val Keyless: PlanForm = Broadcast.copy(name = "without keys", hasKey = false)

  /** Spark broadcasts the side whose size is known, whichever the join preserves. */
  val PreservedLeft: PlanForm = Keyless.copy(name = "the left side is small", small = Some("l"))
  val PreservedRight: PlanForm = Keyless.copy(name = "the right side is small", small = Some("r"))

  /** Both sides of each partition are sorted, where there is no memory for an index. */
  private val BySorting: Settings = Seq(InternalConf.IndexLimit.key -> "0")

  /** A side of each partition is indexed: each group is searched, or large ones are; or both sides are sorted. */
  val Shuffled: PlanForm = PlanForm(
    "shuffled",
    ways = Seq(Seq(InternalConf.LinearScanThreshold.key -> "0"), BySorting, Nil),
    rule = Some(HashEveryJoin))

  val ShuffledAndSorted: PlanForm =
    PlanForm("shuffled and sorted", BySorting, rule = Some(HashEveryJoin))

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
