// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}
import org.apache.spark.sql.execution.joins.CartesianProductExec
import org.apache.spark.sql.execution.{LogicalRDD, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

/**
 * Rows of RDDs, as of a list of rows, whose number Spark does not know and takes for endless. Adaptive execution
 * measures them ([[DeferShuffle]]). Without it a shuffle has tasks for rows that may be few, while a product of few
 * partitions has fewer.
 */
object FewPartitions {

  /** Whether Spark has planned a product with no more tasks than a shuffle. */
  def areIn(join: Join, planned: Seq[SparkPlan]): Boolean = planned match {
    case Seq(_: CartesianProductExec) if !SQLConf.get.adaptiveExecutionEnabled =>
      val tasks = for (left <- of(join.left); right <- of(join.right)) yield left.toLong * right
      tasks.exists(_ <= SQLConf.get.numShufflePartitions)
    case _ => false
  }

  /** The partitions of rows of an RDD. */
  @tailrec
  private def of(side: LogicalPlan): Option[Int] = side match {
    case Project(_, child) => of(child)
    case Filter(_, child)  => of(child)
    case rows: LogicalRDD  => Some(rows.rdd.getNumPartitions)
    case _                 => None
  }
}
