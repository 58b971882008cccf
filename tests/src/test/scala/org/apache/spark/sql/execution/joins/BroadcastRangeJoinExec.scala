// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.execution.joins

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.physical.{Distribution, Partitioning}
import org.apache.spark.sql.execution.SparkPlan

/**
 * Stands for the range join that a later Spark may have, by its name and its parameters: in the place of a nested loop
 * over a broadcast side. Its "keys" are what the range compares. Here it gives the rows of the nested loop.
 */
case class BroadcastRangeJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan) extends BaseJoinExec {

  private def loop = BroadcastNestedLoopJoinExec(left, right, buildSide, joinType, condition)

  override def output: Seq[Attribute] = loop.output

  override def requiredChildDistribution: Seq[Distribution] = loop.requiredChildDistribution

  override def outputPartitioning: Partitioning = loop.outputPartitioning

  override protected def doExecute(): RDD[InternalRow] = loop.execute()

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan): SparkPlan = copy(left = newLeft, right = newRight)
}
