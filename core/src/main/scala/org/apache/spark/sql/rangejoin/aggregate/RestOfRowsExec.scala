// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.{Partition, TaskContext}

/** The rows of its child or, for a [[RestOfPartition]], the rows that are left of it. */
case class RestOfRowsExec(child: SparkPlan) extends UnaryExecNode {

  /** The rows of its child. */
  @transient lazy val rows: RDD[InternalRow] = child.execute()

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = new RestOfRowsRDD(rows)

  override protected def withNewChildInternal(newChild: SparkPlan): RestOfRowsExec =
    copy(child = newChild)
}

/** What is left of a partition, if some of its rows went elsewhere. */
private[aggregate] final class RestOfPartition(
    override val index: Int,
    val rows: Iterator[InternalRow]
) extends Partition

private final class RestOfRowsRDD(rows: RDD[InternalRow]) extends RDD[InternalRow](rows) {

  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    split match {
      case rest: RestOfPartition => rest.rows
      case whole                 => firstParent[InternalRow].iterator(whole, context)
    }
}
