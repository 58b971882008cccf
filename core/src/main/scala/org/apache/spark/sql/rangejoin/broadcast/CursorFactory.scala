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

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.condition.UnknownBounds
import org.apache.spark.sql.rangejoin.index.{RangeCursor, RangeIndex, SecondBounds}
import org.apache.spark.sql.rangejoin.reduce.BestOrder
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
