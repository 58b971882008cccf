// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.UnknownBounds
import org.apache.spark.sql.rangejoin.index.{RangeCursor, RangeIndex, SecondBounds}
import org.apache.spark.util.TaskCompletionListener

/**
 * Makes the cursors of tasks, and reports what they have done.
 *
 * @param candidates None where what they do is counted elsewhere
 * @param best which candidates of a streamed row are wanted; None for all of them
 * @param unknown which bounds may be unknown
 * @param second a second range to search by; None where there is none
 */
case class CursorFactory(
    index: Broadcast[RangeIndex],
    candidates: Option[SQLMetric],
    best: Option[BestOrder],
    unknown: UnknownBounds,
    second: Option[SecondBounds]
) {

  def create(): RangeCursor = {
    val relation = index.value
    val cursor = relation.cursor(best, unknown, second)
    TaskContext.get().taskMetrics().incPeakExecutionMemory(relation.estimatedSize)
    candidates.foreach { metric =>
      TaskContext.get().addTaskCompletionListener(new TaskCompletionListener {
        override def onTaskCompletion(context: TaskContext): Unit = metric += cursor.candidates
      })
    }
    cursor
  }
}
