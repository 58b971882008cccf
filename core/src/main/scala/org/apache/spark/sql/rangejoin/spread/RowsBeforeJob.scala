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
package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{Dependency, Partition, TaskContext}

/**
 * The same rows. When a job over them is about to begin something is done, in the thread that starts the job, which
 * fails if that does; the next job tries again, until it has been done.
 */
private[spread] final class RowsBeforeJob(
    @transient rows: RDD[InternalRow],
    @transient before: () => Unit
) extends RDD[InternalRow](rows) {

  override protected def getPartitions: Array[Partition] = rows.partitions

  override protected def getDependencies: Seq[Dependency[_]] = {
    before()
    super.getDependencies
  }

  override protected def getPreferredLocations(split: Partition): Seq[String] =
    firstParent[InternalRow].preferredLocations(split)

  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    firstParent[InternalRow].iterator(split, context)
}
