// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.{
  OneToOneDependency,
  Partition,
  SparkEnv,
  SparkException,
  TaskContext,
  TaskContextImpl
}

/**
 * The rows of each partition of files, merged; or sorted, where a file is not read in order.
 *
 * @param rows computed from a scan of files, partition by partition
 * @param order of each file, bound to a row
 * @param unless the check that files must pass to be merged, and the rows to use if one fails; None without a check
 * @param onOpen told of the rows of each partition, in its task
 */
private[sortedtables] final class MergedFilesRDD(
    rows: RDD[InternalRow],
    order: Seq[SortOrder],
    unless: Option[MergedFilesRDD.Unless],
    numFiles: SQLMetric,
    onOpen: MergedRows => Unit
) extends RDD[InternalRow](
      rows.sparkContext,
      (rows +: unless.map(_.sorted).toSeq).map(new OneToOneDependency(_))) {

  override protected def getPartitions: Array[Partition] = rows.partitions

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = {
    val partition = split.asInstanceOf[FilePartition]
    unless.find(asked => !partition.files.forall(asked.order.isKept))
      .fold(merged(partition, context))(_.sorted.iterator(split, context))
  }

  private def merged(partition: FilePartition, context: TaskContext): Iterator[InternalRow] = {
    val keys = new SortKeys(order)
    val files = new FilesContext(context)
    val sources = partition.files.map { file =>
      new SortedSource(
        rowsOf(partition, file, files),
        keys.newKey(),
        () => MergedFilesRDD.outOfOrder(file))
    }
    numFiles += sources.length
    val merged = new MergedRows(
      if (sources.length == 1) sources.head else new MergeIterator(sources, keys),
      files)
    context.addTaskCompletionListener[Unit](_ => merged.close())
    onOpen(merged)
    merged
  }

  /** The RDDs between the scan and this one hand its partition down. */
  private def rowsOf(partition: FilePartition, file: PartitionedFile, context: TaskContext) =
    firstParent[InternalRow]
      .iterator(FilePartition(partition.index, Array(file)), context)
      .asInstanceOf[Iterator[UnsafeRow]]
}

private[sortedtables] object MergedFilesRDD {

  /**
   * The check whether files are read in order, and the sorted rows of each partition, for files that fail it.
   */
  case class Unless(order: WrittenOrder, sorted: RDD[InternalRow])

  private def outOfOrder(file: PartitionedFile): Throwable = new SparkException(
    s"The rows of the file ${file.urlEncodedPath} are not in the order that its table declares " +
      "(SORTED BY), and a range join relies on that order. Write the table anew, or set " +
      "spark.sql.join.sortedTables.enabled to false to have its rows sorted.")
}

/**
 * Stands for the task while a scan is computed: takes the listeners by which the scan closes what it has opened, to
 * call them before the task completes. Whether the task is killed is left to the task itself.
 */
private[sortedtables] final class FilesContext(task: TaskContext)
    extends TaskContextImpl(
      task.stageId(),
      task.stageAttemptNumber(),
      task.partitionId(),
      task.taskAttemptId(),
      task.attemptNumber(),
      task.numPartitions(),
      task.taskMemoryManager(),
      task.getLocalProperties,
      SparkEnv.get.metricsSystem,
      task.taskMetrics(),
      task.cpus(),
      task.resources()
    ) {

  /** Calls all listeners, and then raises the error of one, if there was any. */
  def close(): Unit = markTaskCompleted(None)

  override def isInterrupted(): Boolean = task.isInterrupted()

  private[spark] override def getKillReason(): Option[String] = task.getKillReason()

  private[spark] override def killTaskIfInterrupted(): Unit = task.killTaskIfInterrupted()
}
