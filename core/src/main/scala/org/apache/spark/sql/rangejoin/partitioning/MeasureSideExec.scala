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
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation
import org.apache.spark.sql.catalyst.plans.physical.{IdentityBroadcastMode, Partitioning}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

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
