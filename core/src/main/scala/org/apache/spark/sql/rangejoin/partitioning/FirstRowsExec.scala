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
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.{
  Partitioning,
  SinglePartition,
  UnknownPartitioning
}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.{Dependency, OneToOneDependency, Partition, SparkContext, TaskContext}

/**
 * The rows that a limit asks for of a join that has been tried, as [[FirstRows]] has kept them. Without adaptive
 * execution it is tried when rows are asked for, and may turn out not to give them at once.
 *
 * @param tried stock Spark's join
 * @param otherwise the join by buckets, without adaptive execution
 */
case class FirstRowsExec(
    @transient firstRows: FirstRows,
    tried: SparkPlan,
    otherwise: Option[SparkPlan])
    extends SparkPlan {

  override def children: Seq[SparkPlan] = tried +: otherwise.toSeq

  override def output: Seq[Attribute] = tried.output

  override def outputPartitioning: Partitioning =
    if (otherwise.isEmpty) SinglePartition else UnknownPartitioning(0)

  override def stringArgs: Iterator[Any] = Iterator(firstRows)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override protected def doExecute(): RDD[InternalRow] = {
    val numOutputRows = longMetric("numOutputRows")
    val rows = otherwise.fold(quick) { other =>
      new FirstRowsExec.ChosenRDD(sparkContext, () => if (isQuick) quick else other.execute())
    }
    rows.mapPartitionsInternal(_.map { row =>
      numOutputRows += 1
      row
    })
  }

  private def quick: RDD[InternalRow] =
    firstRows.rowsOf(output).fold(TimedSideExec.without(tried).execute()) { rows =>
      sparkContext.parallelize[InternalRow](rows.toSeq, numSlices = 1)
    }

  /** Tries the join, unless that has been done. */
  private def isQuick: Boolean = {
    firstRows.ask(tried.execute(), ProbeExec.patience(conf.broadcastTimeout), output)
    firstRows.answer.contains(true)
  }

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[SparkPlan]): FirstRowsExec =
    copy(tried = newChildren.head, otherwise = newChildren.lift(1))
}

object FirstRowsExec {

  /**
   * Rows that are chosen on the driver, when a job over them is made ready. Spark keeps what a plan fails with; here
   * the job fails, and the next one chooses again.
   */
  private final class ChosenRDD(sc: SparkContext, @transient choose: () => RDD[InternalRow])
      extends RDD[InternalRow](sc, Nil) {

    @transient private lazy val chosen = choose()

    override protected def getPartitions: Array[Partition] = chosen.partitions

    override protected def getDependencies: Seq[Dependency[_]] =
      Seq(new OneToOneDependency(chosen))

    override protected def getPreferredLocations(split: Partition): Seq[String] =
      firstParent[InternalRow].preferredLocations(split)

    override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
      firstParent[InternalRow].iterator(split, context)
  }
}
