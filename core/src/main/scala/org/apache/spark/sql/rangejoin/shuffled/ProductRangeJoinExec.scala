// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, SortOrder}
import org.apache.spark.sql.catalyst.optimizer.{BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans.{Inner, JoinType}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.rangejoin.best.BestMatches
import org.apache.spark.{Dependency, NarrowDependency, Partition, TaskContext}

/**
 * An inner join without keys, each partition of the left side with each of the right, in the tasks of the
 * `CartesianProductExec` that it replaces and in their order. Nothing is shuffled, so that a limit has its first rows
 * when the first tasks have run. A task reads its partition of the right side, as stock Spark's does, into an index.
 *
 * Every partition is read as often as the other side has partitions: for all rows of the join, buckets are better.
 */
case class ProductRangeJoinExec(condition: Option[Expression], left: SparkPlan, right: SparkPlan)
    extends PartitionIndexJoinExec {

  override def joinType: JoinType = Inner

  override def leftKeys: Seq[Expression] = Nil

  override def rightKeys: Seq[Expression] = Nil

  override def buildSide: BuildSide = BuildRight

  override def best: Option[BestMatches] = None

  override def withBest(best: Option[BestMatches]): ProductRangeJoinExec = this

  override def asStock: CartesianProductExec = CartesianProductExec(left, right, condition)

  /** The side that is sorted where there is no memory for an index has no other order. */
  override def outputOrdering: Seq[SortOrder] = Nil

  override def inputRDDs(): Seq[RDD[InternalRow]] =
    PartitionPairs.of(left.execute(), right.execute())

  override protected def codegenPrefix: String = "prj"

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): ProductRangeJoinExec =
    copy(left = newLeft, right = newRight)
}

object ProductRangeJoinExec {

  /** The range join that replaces a Cartesian product. */
  def of(product: CartesianProductExec): ProductRangeJoinExec =
    ProductRangeJoinExec(product.condition, product.left, product.right)
}

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
