// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/**
 * Passes rows on, and ends whole-stage code generation there.
 *
 * Spark puts each child of its own shuffled joins into a separate code generation stage, and recognises these joins by
 * class. For range joins this node does that, and it also stands above a join of two inputs that `UNION` would
 * otherwise fuse with.
 */
case class CodegenBoundaryExec(child: SparkPlan) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output

  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override protected def doExecute(): RDD[InternalRow] = child.execute()

  override protected def withNewChildInternal(newChild: SparkPlan): CodegenBoundaryExec =
    copy(child = newChild)
}
