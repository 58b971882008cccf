// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{FileSourceScanExec, SparkPlan, UnaryExecNode}
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * Reads each bucket of a table in the order that each of its files is in: the files of a bucket are read side by side
 * and merged. That each file is in order is checked as its rows go by. If a file is known to be read in another order
 * than it was written in ([[WrittenOrder]]), the rows of its bucket are sorted.
 *
 * The child is run once for each file: it reads one partition of files, and the nodes above the scan treat each row by
 * itself (see [[SortedFiles]]). Holds open a reader for each file of a bucket, until all rows are read or the join
 * above needs no more.
 *
 * @param sortOrder the order of each file, in columns of the child
 */
case class MergeFilesExec(sortOrder: Seq[SortOrder], child: SparkPlan) extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output

  override def outputOrdering: Seq[SortOrder] = sortOrder

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numFiles" -> SQLMetrics.createMetric(sparkContext, "number of sorted files read"))

  // Sorts partitions whose files cannot be relied on; released together with the files.
  private var sorting: Option[SparkPlan] = None

  private def sorted(): RDD[InternalRow] = {
    val sort = RangeSortExec.sort(sortOrder, child)
    sorting = Some(sort)
    sort.execute()
  }

  // The rows that the task of this copy of the plan reads, until a join above needs no more of them.
  @transient private var current: MergedRows = _

  // A task that reads two partitions at a time (an RDD zipped with itself) cannot tell which of them the join has
  // finished with: they are closed at their end, or with the task.
  @transient private var isShared = false

  private def opened(rows: MergedRows): Unit = {
    isShared ||= current != null && !current.isClosed
    current = rows
  }

  override protected def doExecute(): RDD[InternalRow] = {
    val rows = child.execute()
    // A node that replaces Spark's scan may partition rows differently.
    if (rows.partitions.forall(_.isInstanceOf[FilePartition])) {
      new MergedFilesRDD(
        rows,
        bindReferences(sortOrder, output),
        writtenOrder.map(order => MergedFilesRDD.Unless(order, sorted())),
        longMetric("numFiles"),
        opened)
    } else sorted()
  }

  private def writtenOrder: Option[WrittenOrder] =
    child.collectFirst { case scan: FileSourceScanExec => scan }
      .flatMap(WrittenOrder.of(_, sortOrder.size))

  /** A join that needs no more rows of this side closes its files. */
  override protected[sql] def cleanupResources(): Unit = {
    if (current != null && !isShared) current.close()
    sorting.foreach(_.cleanupResources())
    super.cleanupResources()
  }

  override protected def withNewChildInternal(newChild: SparkPlan): MergeFilesExec =
    copy(child = newChild)
}
