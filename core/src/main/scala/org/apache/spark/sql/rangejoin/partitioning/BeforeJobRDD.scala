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

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{Dependency, Partition, TaskContext}

/**
 * The same rows. Runs a callback on the driver before the first job over them, in the thread that submits it;
 * a callback that fails fails the job, and is tried again by the next one.
 */
private[partitioning] final class BeforeJobRDD(
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
