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
