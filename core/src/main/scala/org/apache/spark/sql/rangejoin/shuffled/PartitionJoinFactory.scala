// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.index.{IndexScannerFactory, RangeIndexMode}
import org.apache.spark.sql.rangejoin.join.PartitionScanFactory
import org.apache.spark.sql.rangejoin.scan.RangeScannerFactory
import org.apache.spark.util.TaskCompletionListener

/**
 * What tasks need to join a partition.
 *
 * @param mode what the index is made of
 * @param indexLimit bytes of an index at most
 * @param index how it is scanned
 * @param sorting how both sides are sorted where there is no memory for it
 * @param window how they are scanned then
 * @param evaluatesKeysIfEmpty whether the keys of streamed rows are evaluated even if there are no
 *   build rows
 */
case class PartitionJoinFactory(
    mode: RangeIndexMode,
    indexLimit: Long,
    index: IndexScannerFactory,
    sorting: SideSorting,
    window: RangeScannerFactory,
    evaluatesKeysIfEmpty: Boolean,
    metrics: PartitionJoinMetrics
) extends PartitionScanFactory {
  def behavior: JoinTypeBehavior = index.behavior

  /** Reads the build side. What it takes is given back with the current task, at the latest. */
  override def create(
      streamed: Iterator[InternalRow],
      build: Iterator[InternalRow]
  ): PartitionJoin = {
    val join = new PartitionJoin(streamed, build, this)
    TaskContext.get().addTaskCompletionListener(new PartitionJoinFactory.CloseWithTask(join))
    join.begin()
  }
}

object PartitionJoinFactory {

  /**
   * Closes a join that is open when its task ends. A task may have several joins, one after another: the reference to
   * one that is closed is dropped, with its index.
   */
  private final class CloseWithTask(private var join: PartitionJoin)
      extends TaskCompletionListener {
    join.onClose(() => join = null)

    override def onTaskCompletion(context: TaskContext): Unit = {
      val open = join
      if (open != null) open.close()
    }
  }
}
