// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{BroadcastNestedLoopJoinExec, CartesianProductExec}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf

/**
 * Joins without keys of which a limit reads a few rows, as `show()` does. Stock Spark's plan gives the first rows
 * before all of both sides is read, so that such a join keeps it, as a range join, instead of shuffling both sides.
 */
object LimitedJoins {

  /**
   * Rows of a small limit. Notebooks and query tools ask for up to so many; a larger limit may well need all of a join.
   */
  private val MostRows = 10000

  /** Bytes of a side that is broadcast below a small limit, whatever Spark's own threshold. */
  private val MostBroadcast = BigInt(64 << 20)

  private val Tag = TreeNodeTag[Unit]("rangejoin.limited")

  /** Marks the join below a small limit, for when the planner comes to it. */
  def mark(plan: LogicalPlan): Unit = mark(plan, isLimited = false)

  @tailrec
  private def mark(plan: LogicalPlan, isLimited: Boolean): Unit = plan match {
    case LocalLimit(IntegerLiteral(most), child) => mark(child, isLimited || most <= MostRows)
    case _: ReturnAnswer | _: GlobalLimit | _: Offset | _: Project =>
      mark(plan.children.head, isLimited)
    case join: Join if isLimited => join.setTagValue(Tag, ())
    case _                       =>
  }

  /**
   * Whether what Spark has planned for a join without keys is done with the first rows of a small limit. Where it
   * broadcasts a side, all of that is read: not if it is large.
   */
  def endsEarly(join: Join, planned: Seq[SparkPlan]): Boolean =
    join.getTagValue(Tag).isDefined && (planned match {
      case Seq(_: CartesianProductExec)           => true
      case Seq(loop: BroadcastNestedLoopJoinExec) =>
        val side = if (loop.buildSide == BuildLeft) join.left else join.right
        SQLConf.get.getConf(RangeJoinConf.Broadcast) && side.stats.sizeInBytes <= MostBroadcast
      case _ => false
    })
}
