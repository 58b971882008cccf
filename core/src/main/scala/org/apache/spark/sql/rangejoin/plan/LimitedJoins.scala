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

import java.util.concurrent.TimeUnit.MILLISECONDS

import scala.annotation.tailrec
import scala.concurrent.duration.FiniteDuration

import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.execution.{PlanLater, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.hint.RangeJoinHint
import org.apache.spark.sql.rangejoin.partitioning.{FirstRows, ProbeExec}

/**
 * Joins without keys of which a limit on top of the query reads a few rows, as `show()` does. Stock
 * Spark's Cartesian product ends with the first matches, which may be at once, or after all rows have
 * been compared: under adaptive execution its first task is tried before sides are shuffled
 * ([[FirstRows]]).
 */
object LimitedJoins extends Rule[LogicalPlan] {

  private val Tag = TreeNodeTag[FirstRows]("rangejoin.firstRows")

  /** Marks the joins. */
  override def apply(plan: LogicalPlan): LogicalPlan = {
    markBelowLimit(plan)
    plan
  }

  /** Below a limit at the top alone: any other is asked of every task. */
  @tailrec
  private def markBelowLimit(plan: LogicalPlan): Unit = plan match {
    case LocalLimit(IntegerLiteral(most), child) => if (most > 0) mark(child, most)
    case GlobalLimit(_, child)                   => markBelowLimit(child)
    case Offset(_, child)                        => markBelowLimit(child)
    case Project(_, child)                       => markBelowLimit(child)
    case _                                       =>
  }

  @tailrec
  private def mark(plan: LogicalPlan, most: Int): Unit = plan match {
    case Project(_, child) => mark(child, most)
    case join: Join
        if join.joinType.isInstanceOf[InnerLike] && PartitionRangeJoins.isWithoutKeys(join) &&
          RangeJoinHint.in(join.hint).isEmpty =>
      join.setTagValue(Tag, new FirstRows(most))
    case _ =>
  }

  /** Whether stock Spark's Cartesian product has been found to give the rows at once. */
  def areFirstRowsQuick(join: Join): Boolean =
    join.getTagValue(Tag).flatMap(_.answer).contains(true)

  /** What finds that out, if there is a limit and it is not known. */
  def probe(join: Join, conf: SQLConf): Option[SparkPlan] = {
    val patience = conf.getConf(RangeJoinConf.FirstRowsTimeout)
    join.getTagValue(Tag).filter(_.answer.isEmpty && patience > 0).map { firstRows =>
      val product =
        CartesianProductExec(PlanLater(join.left), PlanLater(join.right), join.condition)
      ProbeExec.exchange(firstRows, product, Some(FiniteDuration(patience, MILLISECONDS)))
    }
  }
}
