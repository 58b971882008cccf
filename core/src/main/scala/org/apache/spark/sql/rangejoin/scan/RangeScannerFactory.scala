// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.join.{PairTestSpec, PairTests}
import org.apache.spark.sql.rangejoin.kernel.{KernelSpec, RangeJoinKernelFactory}
import org.apache.spark.sql.rangejoin.shims.WindowBytes
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.util.TaskCompletionListener
import org.apache.spark.{SparkEnv, TaskContext}

/**
 * What tasks need to make their scanner.
 *
 * @param bufferedFields number of columns of a buffered row
 * @param keepsOrder whether streamed rows come out in the order they come in, also those of a key with few rows
 * @param best which matches of a streamed row are wanted; None for all of them
 */
case class RangeScannerFactory(
    kernel: KernelSpec,
    bufferedFields: Int,
    tests: PairTestSpec,
    behavior: JoinTypeBehavior,
    limits: WindowLimits,
    metrics: WindowMetrics,
    keepsOrder: Boolean,
    best: Option[BestOrder] = None
) {

  /** The scanner of the join: a `PairScanner` where it keeps buffered rows, else a `CandidateScanner`. */
  def createScanner(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): RangeScanner =
    if (behavior.preservesBuffered) createBufferedPreserving(streamed, buffered)
    else create(streamed, buffered)

  /**
   * A scanner for a join that keeps no buffered rows, which belongs to the current task and is closed with
   * it, however it ends.
   */
  def create(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): StreamedRangeScanner =
    closedWithTask(StreamedRangeScanner(streamed, buffered, parts, behavior))

  /** A scanner for a join that keeps buffered rows; closed with the current task as well. */
  def createBufferedPreserving(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): BufferedPreservingScanner =
    closedWithTask(new BufferedPreservingScanner(
      streamed,
      buffered,
      parts,
      behavior.preservesStreamed))

  private def parts: ScannerParts = ScannerParts(
    RangeJoinKernelFactory.createObject(kernel),
    createWindow(TaskContext.get().taskMemoryManager()),
    bufferedFields,
    PairTests.create(tests),
    metrics,
    kernel.streamedKeys.size,
    keepsOrder,
    best
  )

  private def closedWithTask[S <: RangeScanner](scanner: S): S = {
    TaskContext.get().addTaskCompletionListener(new TaskCompletionListener {
      override def onTaskCompletion(context: TaskContext): Unit = {
        scanner.close()
        scanner.reportMemory(context.taskMetrics())
      }
    })
    scanner
  }

  private def createWindow(tasks: TaskMemoryManager): RangeWindow = {
    val env = SparkEnv.get
    val memory = new WindowMemory(tasks)
    new RangeWindow(
      memory,
      new PagedRowStore(memory, tasks, env.memoryManager.pageSizeBytes),
      new SpillFiles(
        env.serializerManager,
        () => env.blockManager.diskBlockManager.createTempLocalBlock()
      ),
      limits
    )
  }
}

object RangeScannerFactory {

  /**
   * From the settings for the buffer of Spark's sort-merge join, which keeps rows in memory up to the one threshold,
   * and then up to the other.
   */
  def limits(conf: SQLConf): WindowLimits = WindowLimits(
    rows = math.max(
      1,
      math.max(
        conf.sortMergeJoinExecBufferInMemoryThreshold,
        conf.sortMergeJoinExecBufferSpillThreshold
      )
    ),
    bytes = WindowBytes.of(conf)
  )
}
