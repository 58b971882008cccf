// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.TimeoutException

import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.physical.{IdentityBroadcastMode, Partitioning}
import org.apache.spark.sql.execution.exchange.BroadcastExchangeExec
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.rangejoin.conf.{JobCancelled, JobDescription}
import org.apache.spark.util.ThreadUtils

/**
 * Whether one side of a join without keys is small, which is found out by reading it: of a filtered side,
 * and of some sources, Spark has no estimate. A side that takes too long to measure is taken for large. Measured
 * once, by whoever asks first.
 *
 * At most two jobs. The first reads as many partitions as run at a time, which is all there is to do where the
 * side is large; the second reads the others. A task reads no more than makes the side large.
 *
 * Lives on the driver. Only the choice of a plan may depend on the answer, since the rows may differ when they
 * are read again.
 *
 * @param limit the most bytes of a small side
 */
final class SideMeasure(val limit: Long) extends Logging {
  import SideMeasure._

  @volatile private var found: Option[Boolean] = None

  /** Whether the side is small; None until it has been measured. */
  def isSmall: Option[Boolean] = found

  override def toString: String = s"at most $limit bytes"

  /**
   * Measures, unless that has been done. Whatever fails here fails again in the query itself, whose error it
   * then is: the side counts as large.
   *
   * @param patience for both jobs together, after which the side counts as large
   */
  def ask(rows: RDD[InternalRow], patience: Duration): Unit = synchronized {
    if (found.isEmpty) {
      val start = System.nanoTime()
      val answer =
        try JobDescription.within(rows.sparkContext, Description)(measured(rows, patience))
        catch {
          // The query is to end.
          case e @ JobCancelled() => throw e
          case NonFatal(e)        =>
            logInfo(s"${Description.capitalize}: not found out", e)
            false
        }
      found = Some(answer)
      logInfo(s"${Description.capitalize}: ${if (answer) "yes" else "no"}, found in " +
        s"${NANOSECONDS.toMillis(System.nanoTime() - start)} ms")
    }
  }

  private def measured(rows: RDD[InternalRow], patience: Duration): Boolean = {
    val left = patience match {
      case finite: FiniteDuration => val end = finite.fromNow; () => end.timeLeft.max(Duration.Zero)
      case endless                => () => endless
    }
    def bytes(partitions: Seq[Int], most: Long): Option[Long] =
      ofEach(rows, partitions, left())(SideMeasure.bytes(_, most)).map(_.sum).filter(_ <= most)
    val (first, others) = rows.partitions.indices.splitAt(rows.sparkContext.defaultParallelism)
    bytes(first, limit).flatMap(some => bytes(others, limit - some)).isDefined
  }
}

object SideMeasure {

  /** What the jobs are called in the UI. */
  private val Description = "range join without a key: whether a side is small"

  /** What a function finds in each of some partitions, in any order; None if that takes too long. */
  private def ofEach[T](rows: RDD[InternalRow], partitions: Seq[Int], patience: Duration)(
      function: Iterator[InternalRow] => T): Option[Seq[T]] = {
    val found = Seq.newBuilder[T]
    val job = rows.sparkContext.submitJob(
      rows,
      function,
      partitions,
      (_: Int, part: T) => found += part,
      ())
    try {
      ThreadUtils.awaitReady(job, patience)
      job.value.get.get
      Some(found.result())
    } catch {
      case _: TimeoutException => None
    } finally if (!job.isCompleted) job.cancel()
  }

  /** The bytes of rows, or more than `most`. */
  private def bytes(rows: Iterator[InternalRow], most: Long): Long = {
    var sum = 0L
    while (sum <= most && rows.hasNext) {
      sum += (rows.next() match {
        case row: UnsafeRow => row.getSizeInBytes
        case row            => 8L * (row.numFields + 1)
      })
    }
    sum
  }
}

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
