// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.duration.{Duration, FiniteDuration}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.physical.{IdentityBroadcastMode, Partitioning}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}

/** Measures its child when its rows are collected, and has no rows. */
case class ProbeExec(@transient measure: SideMeasure, child: SparkPlan) extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output

  override def outputPartitioning: Partitioning = child.outputPartitioning

  // It stands for no part of the query, so that Spark puts nothing of the query in its place when it has run.
  override def logicalLink: Option[LogicalPlan] = Some(LocalRelation())

  override def stringArgs: Iterator[Any] = Iterator(measure)

  override def executeCollectIterator(): (Long, Iterator[InternalRow]) = {
    measure.ask(child.execute(), ProbeExec.patience(conf.broadcastTimeout))
    (0L, Iterator.empty)
  }

  override protected def doExecute(): RDD[InternalRow] = sparkContext.emptyRDD

  override protected def withNewChildInternal(newChild: SparkPlan): ProbeExec =
    copy(child = newChild)
}

object ProbeExec {

  /** The exchange to wait for. */
  def exchange(measure: SideMeasure, side: SparkPlan): SparkPlan =
    BroadcastExchangeExec(IdentityBroadcastMode, ProbeExec(measure, side))

  /** Half of the time after which Spark gives up a broadcast, which is what waits for an answer. */
  def patience(broadcastTimeout: Long): Duration =
    if (broadcastTimeout <= 0 || broadcastTimeout > LongestTimeout) Duration.Inf
    else FiniteDuration(broadcastTimeout, "s") / 2

  /**
   * About thirty years, in seconds: a `Duration` counts nanoseconds, and Spark turns a negative timeout into the
   * greatest BIGINT.
   */
  private val LongestTimeout = 1000000000L
}
