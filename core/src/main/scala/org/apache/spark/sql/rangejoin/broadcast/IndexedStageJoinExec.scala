// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression, SortOrder}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.adaptive.BroadcastQueryStageExec
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/**
 * Stands for a range join over a broadcast stage that adaptive execution has begun, while the rest of
 * the query is planned again: Spark's rules accept such a stage below their own joins only, so it is
 * no child here. The range join takes its place in the same planning.
 *
 * The expressions are those of the join, so that rules see them: subqueries have to be planned.
 */
case class IndexedStageJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    isSkewJoin: Boolean,
    stage: BroadcastQueryStageExec,
    child: SparkPlan
) extends UnaryExecNode {

  /** The range join over the stage and the child. */
  lazy val replacement: BroadcastRangeJoinExec = {
    val (left, right) = if (buildSide == BuildLeft) (stage, child) else (child, stage)
    BroadcastRangeJoinExec(
      leftKeys,
      rightKeys,
      joinType,
      buildSide,
      condition,
      left,
      right,
      isSkewJoin)
  }

  override def output: Seq[Attribute] = replacement.output

  override def producedAttributes: AttributeSet = stage.outputSet

  override def outputPartitioning: Partitioning = replacement.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = replacement.outputOrdering

  override protected def doExecute(): RDD[InternalRow] =
    throw new IllegalStateException(s"not placed:\n$treeString")

  override protected def withNewChildInternal(newChild: SparkPlan): IndexedStageJoinExec =
    copy(child = newChild)
}
