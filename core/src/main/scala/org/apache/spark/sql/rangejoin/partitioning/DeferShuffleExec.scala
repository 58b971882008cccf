// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.atomic.AtomicReference

import scala.concurrent.Future

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}

/**
 * A side of a join without keys that is not shuffled before the sizes of both sides are known.
 *
 * Adaptive execution runs the exchanges below this node first: shuffles of the other side, and the measure of
 * a side, which is a broadcast for that reason. After each of them the join is planned again, in the end
 * without this node. It passes on the rows of its side, and reads nothing else.
 *
 * The side that is copied also waits by this node until an owner of intervals has been shuffled
 * ([[AwaitStageExec]]).
 *
 * @param others plans below which there are exchanges to wait for: measures, and the other side once more; or what
 *   stands for the other side
 */
case class DeferShuffleExec(side: SparkPlan, others: Seq[SparkPlan]) extends SparkPlan {

  override def children: Seq[SparkPlan] = side +: others

  override def output: Seq[Attribute] = side.output

  override def producedAttributes: AttributeSet = AttributeSet.empty

  override def outputPartitioning: Partitioning = side.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = side.outputOrdering

  // As for the bucket node above: the shuffle stands for this side's logical plan.
  override def logicalLink: Option[LogicalPlan] = side.logicalLink

  override def stringArgs: Iterator[Any] = Iterator.empty

  override protected def doExecute(): RDD[InternalRow] = side.execute()

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[SparkPlan]): DeferShuffleExec =
    copy(side = newChildren.head, others = newChildren.tail)
}

object DeferShuffleExec {

  /** A side that waits for others, if there are any. */
  def of(side: SparkPlan, others: Iterable[SparkPlan]): SparkPlan =
    if (others.isEmpty) side
    else {
      side match {
        case DeferShuffleExec(side, before) => DeferShuffleExec(side, before ++ others)
        case side                           => DeferShuffleExec(side, others.toSeq)
      }
    }
}

/**
 * Stands for the other side of a join in what one side waits for (see [[DeferShuffleExec]]). To adaptive
 * execution it is a stage that is running already; after each stage it checks whether this one has its result.
 */
case class AwaitStageExec(
    @transient result: AtomicReference[Option[Any]],
    override val id: Int,
    override val plan: SparkPlan
) extends QueryStageExec {
  _resultOption = result

  override protected def stringArgs: Iterator[Any] = Iterator.empty

  // Spark calls neither, since it takes the stage for one that it has started before.
  override protected def doMaterialize(): Future[Any] = Future.successful(())

  override def getRuntimeStatistics: Statistics = Statistics(sizeInBytes = 1)
}

object AwaitStageExec {

  /** Like a measure, it stands for no part of the query. */
  def apply(result: AtomicReference[Option[Any]]): AwaitStageExec = {
    val stage = AwaitStageExec(result, 0, NoRowsExec(Nil))
    stage.setLogicalLink(LocalRelation())
    stage
  }
}

/** Has no rows. */
case class NoRowsExec(output: Seq[Attribute]) extends LeafExecNode {

  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD
}
