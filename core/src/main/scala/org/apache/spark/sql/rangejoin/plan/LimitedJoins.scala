/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.execution.{PlanLater, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.Reason
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.hint.RangeJoinHint
import org.apache.spark.sql.rangejoin.partitioning.{
  FirstRows,
  FirstRowsExec,
  ProbeExec,
  TimedSideExec
}

/**
 * Joins without keys of which a limit reads a few rows, as `show()` does. Stock Spark's Cartesian product ends with the
 * first matches, which may be at once, or after all rows have been compared: its first tasks are tried before sides
 * are shuffled ([[FirstRows]]).
 */
object LimitedJoins extends Rule[LogicalPlan] {

  private val Tag = TreeNodeTag[FirstRows]("rangejoin.firstRows")

  /** Marks the joins. */
  override def apply(plan: LogicalPlan): LogicalPlan = {
    if (timeout > 0) {
      val last = lastLimit(plan)
      plan.foreach {
        case limit @ LocalLimit(IntegerLiteral(most), child) if most > 0 =>
          mark(child, most, mayRunAgain = last.exists(_.eq(limit)))
        case _ =>
      }
    }
    plan
  }

  /** The limit at the top of a plan, for which Spark runs few tasks; any other limit runs in every task. */
  @tailrec
  private def lastLimit(plan: LogicalPlan): Option[LogicalPlan] = plan match {
    case limit: LocalLimit     => Some(limit)
    case GlobalLimit(_, child) => lastLimit(child)
    case Offset(_, child)      => lastLimit(child)
    case Project(_, child)     => lastLimit(child)
    case _                     => None
  }

  /** @param mayRunAgain whether the join may be run once more, if its rows cannot be kept */
  @tailrec
  private def mark(plan: LogicalPlan, most: Int, mayRunAgain: Boolean): Unit = plan match {
    case Project(_, child) => mark(child, most, mayRunAgain)
    case join: Join
        if join.joinType.isInstanceOf[InnerLike] && PartitionRangeJoins.isWithoutKeys(join) &&
          RangeJoinHint.in(join.hint).isEmpty && (mayRunAgain || !isObserved(join)) =>
      join.setTagValue(Tag, new FirstRows(most, timeout, mayRunAgain))
    case _ =>
  }

  /**
   * Stock Spark's join for a join whose trial gave the rows at once, or the rows that the trial has kept.
   */
  def quick(join: Join, ofSpark: Seq[SparkPlan]): Option[Seq[SparkPlan]] =
    join.getTagValue(Tag).filter(_.answer.contains(true)).map { firstRows =>
      ofSpark.map(withReason).map { plan =>
        if (isObserved(join) || firstRows.rowsOf(plan.output).isEmpty) plan
        else FirstRowsExec(firstRows, plan, None)
      }
    }

  /**
   * Under adaptive execution: the exchange that tries stock Spark's join, if the join has a limit and was not tried
   * yet.
   */
  def probe(join: Join): Option[SparkPlan] =
    notTried(join).map(firstRows => ProbeExec.exchange(firstRows, tried(join, firstRows)))

  /** Without adaptive execution: the trial to run before a join by buckets, if any. */
  def toTry(join: Join): Option[FirstRows] = notTried(join).filterNot(_ => isObserved(join))

  /** A join by buckets before which stock Spark's join is tried. */
  def tryFirst(firstRows: FirstRows, join: Join, byBuckets: SparkPlan): SparkPlan =
    FirstRowsExec(firstRows, tried(join, firstRows), Some(byBuckets))

  /**
   * Whether a side has observed metrics (`CollectMetrics`), which must be collected once, in the plan that really runs.
   */
  private def isObserved(join: Join): Boolean = join.exists(_.isInstanceOf[CollectMetrics])

  private def notTried(join: Join): Option[FirstRows] =
    join.getTagValue(Tag).filter(_.answer.isEmpty)

  private def timeout: Long = conf.getConf(RangeJoinConf.FirstRowsTimeout)

  private def tried(join: Join, firstRows: FirstRows): SparkPlan = withReason(CartesianProductExec(
    TimedSideExec(firstRows.timeout, PlanLater(join.left)),
    PlanLater(join.right),
    join.condition))

  private def withReason(ofSpark: SparkPlan): SparkPlan = {
    ofSpark.setTagValue(MarkRangeJoins.ReasonTag, Reason.FirstRows)
    ofSpark
  }
}
