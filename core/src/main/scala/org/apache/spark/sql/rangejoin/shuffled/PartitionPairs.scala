// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{Dependency, NarrowDependency, Partition, TaskContext}

/** Each partition of one side beside each of the other, in the order of Spark's `CartesianRDD`. */
private[shuffled] object PartitionPairs {

  /** Both sides, with as many partitions: those in the same place are a pair. */
  def of(left: RDD[InternalRow], right: RDD[InternalRow]): Seq[RDD[InternalRow]] = {
    val (ofLeft, ofRight) = (left.getNumPartitions, right.getNumPartitions)
    val pairs = Math.multiplyExact(ofLeft, ofRight)
    Seq(new Repeated(left, pairs, _ / ofRight), new Repeated(right, pairs, _ % ofRight))
  }

  private case class Place(index: Int, partition: Partition) extends Partition

  /** @param which the partition of `rows` that is in a place */
  private final class Repeated(@transient rows: RDD[InternalRow], places: Int, which: Int => Int)
      extends RDD[InternalRow](rows.sparkContext, Nil) {

    override protected def getPartitions: Array[Partition] =
      Array.tabulate(places)(place => Place(place, rows.partitions(which(place))))

    override protected def getDependencies: Seq[Dependency[_]] =
      Seq(new NarrowDependency(rows) {
        override def getParents(place: Int): Seq[Int] = Seq(which(place))
      })

    override protected def getPreferredLocations(place: Partition): Seq[String] =
      rows.preferredLocations(place.asInstanceOf[Place].partition)

    override def compute(place: Partition, context: TaskContext): Iterator[InternalRow] =
      firstParent[InternalRow].iterator(place.asInstanceOf[Place].partition, context)
  }
}
