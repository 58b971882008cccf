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

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.TimeUnit.MILLISECONDS

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/**
 * The rows of its child, until what reads them has taken some time for those that it has had. The time that the
 * rows themselves take does not count: they have to be made whichever way a join goes.
 *
 * @param patience in milliseconds
 */
case class TimedSideExec(patience: Long, child: SparkPlan) extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def doExecute(): RDD[InternalRow] = {
    val nanos = MILLISECONDS.toNanos(patience)
    child.execute().mapPartitionsInternal(new TimedSideExec.Rows(_, nanos))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): TimedSideExec =
    copy(child = newChild)
}

object TimedSideExec {

  /** The plan with all rows of its sides. */
  def without(plan: SparkPlan): SparkPlan = plan.transformUp { case timed: TimedSideExec =>
    timed.child
  }

  private final class Rows(rows: Iterator[InternalRow], nanos: Long) extends Iterator[InternalRow] {
    private[this] val start = System.nanoTime()
    private[this] var ofRows = 0L

    override def hasNext: Boolean = {
      val now = System.nanoTime()
      now - start - ofRows <= nanos && {
        val has = rows.hasNext
        ofRows += System.nanoTime() - now
        has
      }
    }

    override def next(): InternalRow = {
      val now = System.nanoTime()
      val row = rows.next()
      ofRows += System.nanoTime() - now
      row
    }
  }
}
