// SPDX-License-Identifier: Apache-2.0

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
