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

  /** Calls the listeners; an error of one of them is raised when all have been called. */
  def close(): Unit = markTaskCompleted(None)

  override def isInterrupted(): Boolean = task.isInterrupted()

  private[spark] override def getKillReason(): Option[String] = task.getKillReason()

  private[spark] override def killTaskIfInterrupted(): Unit = task.killTaskIfInterrupted()
}
