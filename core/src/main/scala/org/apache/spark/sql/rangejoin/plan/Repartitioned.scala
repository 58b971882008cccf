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

import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Join,
  LogicalPlan,
  RepartitionByExpression,
  RepartitionOperation
}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * Joins whose rows a user wants to be by key. Where they already are, Spark takes the shuffle of a
 * `repartition` out of the plan, and nothing in the plan says any more that somebody relies on it.
 * So it is noted before, while the query is planned.
 */
private[rangejoin] object Repartitioned extends SparkStrategy {

  /** On a join: the next repartition above it. */
  private val Above = TreeNodeTag[LogicalPlan]("rangejoin.repartitioned")

  /** Plans nothing. */
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = {
    plan match {
      case by: RepartitionByExpression if by.partitionExpressions.nonEmpty => note(by, by.child)
      case _                                                               =>
    }
    Nil
  }

  private def note(by: LogicalPlan, below: LogicalPlan): Unit = below match {
    // An aggregate asks for what it needs; what is shuffled above does not depend on what is below.
    case _: Aggregate | _: RepartitionOperation =>
    case other                                  =>
      if (other.isInstanceOf[Join]) other.setTagValue(Above, by)
      other.children.foreach(note(by, _))
  }

  /** Whether the join has made a repartition superfluous. */
  def isByJoin(join: SparkPlan, plan: SparkPlan): Boolean =
    join.logicalLink.flatMap(_.getTagValue(Above)).exists { by =>
      !plan.exists {
        case exchange: ShuffleExchangeLike => exchange.logicalLink.exists(_.eq(by))
        case _                             => false
      }
    }
}
