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

package org.apache.spark.sql.rangejoin.sort

import java.util.concurrent.TimeUnit.NANOSECONDS

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SortExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.internal.SQLConf

/**
 * Sorts each partition by several columns, all ascending, like `SortExec`. That takes a radix sort
 * for a single column only; this node puts the columns together into one [[PrefixLayout prefix]].
 */
case class RangeSortExec(sortOrder: Seq[SortOrder], child: SparkPlan) extends UnaryExecNode {
  require(sortOrder.forall(RangeSortExec.isPlain))

  override def output: Seq[Attribute] = child.output

  override def outputOrdering: Seq[SortOrder] = sortOrder

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "sortTime" -> SQLMetrics.createTimingMetric(sparkContext, "sort time"),
    "peakMemory" -> SQLMetrics.createSizeMetric(sparkContext, "peak memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(sparkContext, "spill size")
  )

  // Of the task that has this copy of the plan, as in SortExec.
  @transient private var sorter: PrefixSorter = _

  override protected def doExecute(): RDD[InternalRow] = {
    val sortTime = longMetric("sortTime")
    val peakMemory = longMetric("peakMemory")
    val spillSize = longMetric("spillSize")
    child.execute().mapPartitionsInternal { rows =>
      val sorter = createSorter()
      TaskContext.get().addTaskCompletionListener[Unit] { context =>
        sortTime += NANOSECONDS.toMillis(sorter.sortTimeNanos)
        peakMemory += sorter.peakMemory
        spillSize += sorter.spillSize
        context.taskMetrics().incPeakExecutionMemory(sorter.peakMemory)
      }
      rows.foreach(row => sorter.insert(row.asInstanceOf[UnsafeRow]))
      sorter.sorted()
    }
  }

  private def createSorter(): PrefixSorter = {
    sorter = new PrefixSorter(new SortColumns(bindReferences(sortOrder, output), output.size))
    sorter
  }

  override protected[sql] def cleanupResources(): Unit = {
    if (sorter != null) sorter.cleanupResources()
    super.cleanupResources()
  }

  override protected def withNewChildInternal(newChild: SparkPlan): RangeSortExec =
    copy(child = newChild)
}

object RangeSortExec {

  /** The sort of a side by this order: this node's where that can win, else Spark's. */
  def sort(order: Seq[SortOrder], child: SparkPlan): SparkPlan =
    if (child.conf.getConf(SQLConf.RADIX_SORT_ENABLED) && gains(order)) RangeSortExec(order, child)
    else SortExec(order, global = false, child)

  /** Of a single column Spark makes as much. */
  private def gains(order: Seq[SortOrder]): Boolean = order.size > 1 && order.forall(isPlain)

  private def isPlain(order: SortOrder): Boolean =
    order.direction == Ascending && order.nullOrdering == NullsFirst
}
