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
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.physical.{IdentityBroadcastMode, Partitioning}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/**
 * A side of a join without keys that is not shuffled before it is known how large both sides are.
 *
 * It makes adaptive execution wait: what the other side shuffles below is run first, and so is the measure of a
 * side, which is a broadcast for that reason. Whenever one of them has run the join is planned anew, in the
 * end without this node. It passes on the rows of its side, and reads nothing else.
 *
 * Likewise the side that is copied waits until an owner of intervals has been shuffled ([[OwnerStageExec]]).
 *
 * @param others plans below which there are exchanges to wait for: measures, and the other side once more; or what
 *   stands for the shuffle of the owner
 */
case class AwaitSizesExec(side: SparkPlan, others: Seq[SparkPlan]) extends SparkPlan {

  override def children: Seq[SparkPlan] = side +: others

  override def output: Seq[Attribute] = side.output

  override def producedAttributes: AttributeSet = AttributeSet.empty

  override def outputPartitioning: Partitioning = side.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = side.outputOrdering

  // As of the buckets above: what is shuffled is this side.
  override def logicalLink: Option[LogicalPlan] = side.logicalLink

  override def stringArgs: Iterator[Any] = Iterator.empty

  override protected def doExecute(): RDD[InternalRow] = side.execute()

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[SparkPlan]): AwaitSizesExec =
    copy(side = newChildren.head, others = newChildren.tail)
}

object AwaitSizesExec {

  /** A side that is copied, which waits for the lengths of the owner, too. */
  def ofLengths(side: SparkPlan, lengths: OwnerLengths): SparkPlan =
    if (!lengths.isPending) side
    else {
      side match {
        case AwaitSizesExec(of, others) => AwaitSizesExec(of, others :+ OwnerStageExec(lengths))
        case of                         => AwaitSizesExec(of, Seq(OwnerStageExec(lengths)))
      }
    }
}

/** Measures a side when its rows are collected, and has no rows. */
case class MeasureSideExec(@transient measure: SideMeasure, child: SparkPlan)
    extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override def stringArgs: Iterator[Any] = Iterator(s"at most ${measure.limit} bytes")

  override def executeCollectIterator(): (Long, Iterator[InternalRow]) = {
    measure.measure(child.execute(), SideMeasure.patience(conf.broadcastTimeout))
    (0L, Iterator.empty)
  }

  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD

  override protected def withNewChildInternal(newChild: SparkPlan): MeasureSideExec =
    copy(child = newChild)
}

object MeasureSideExec {

  /** The side that an exchange measures. */
  object OfSide {
    def unapply(exchange: SparkPlan): Option[SparkPlan] = exchange match {
      case BroadcastExchangeExec(_, measuring: MeasureSideExec) => Some(measuring.child)
      case _                                                    => None
    }
  }

  /**
   * What is to be awaited. It stands for no part of the query, so that Spark puts nothing of the query
   * in its place when it has run.
   */
  def exchange(measure: SideMeasure, side: SparkPlan): SparkPlan = {
    val exchange = BroadcastExchangeExec(IdentityBroadcastMode, MeasureSideExec(measure, side))
    exchange.setLogicalLink(LocalRelation())
    exchange
  }
}
