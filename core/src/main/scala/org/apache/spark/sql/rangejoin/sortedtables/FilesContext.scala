// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.{SparkEnv, TaskContext, TaskContextImpl}

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
