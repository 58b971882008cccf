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

package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanExec,
  BroadcastQueryStageExec,
  LogicalQueryStage
}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD, SparkPlan}
import org.apache.spark.sql.types._

/**
 * Whether a plan gives the same rows each time it runs over the same tables. Says no where it does not
 * know: the order in which rows arrive decides about a LIMIT, a window function among ties, or the last
 * digits of a sum of doubles; an RDD may be computed by any function.
 */
object RepeatablePlan {

  def apply(plan: LogicalPlan): Boolean =
    plan.subqueriesAll.forall(isRepeatable) && isRepeatable(plan)

  private def isRepeatable(plan: LogicalPlan): Boolean = {
    val itself = plan match {
      // What is above a stage is evaluated again, and so is a shuffle of which an executor took a part with it.
      case LogicalQueryStage(of, physical) =>
        physical.isInstanceOf[BroadcastQueryStageExec] || apply(of)
      case rows: LogicalRDD     => isStored(rows.rdd)
      case rows: ExternalRDD[_] => isStored(rows.rdd)
      // Rows that were evicted are computed again.
      case cached: InMemoryRelation => planned(cached.cachedPlan).exists(apply)
      case _: LeafNode              => true
      case _: Project | _: Filter | _: Union | _: Join | _: Expand | _: Generate => true
      case _: Distinct | _: Repartition | _: RepartitionByExpression | _: Sort   => true
      case a: Aggregate => a.aggregateExpressions.forall(!_.exists(isInexact))
      case _            => false
    }
    itself && plan.deterministic && plan.children.forall(isRepeatable)
  }

  /** An RDD that a user has made may be anything. */
  private def isStored(rdd: RDD[_]): Boolean = rdd.isCheckpointed

  /** The logical plan of a physical one; nodes that were put above it later have none. */
  private def planned(plan: SparkPlan): Option[LogicalPlan] = plan match {
    case adaptive: AdaptiveSparkPlanExec => planned(adaptive.inputPlan)
    case other                           =>
      other.logicalLink.orElse(
        if (other.children.size == 1) planned(other.children.head) else None)
  }

  private def isInexact(e: Expression): Boolean = e match {
    case _: Min | _: Max | _: Count | _: BloomFilterAggregate => false
    case s: Sum                                               => !isExact(s.child.dataType)
    case _: AggregateFunction                                 => true
    case _                                                    => false
  }

  private def isExact(dataType: DataType): Boolean = dataType match {
    case _: IntegralType | _: DecimalType => true
    case _                                => false
  }
}
