// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  ReusedExchangeExec,
  ShuffleExchangeExec
}
import org.apache.spark.sql.execution.metric.SQLShuffleReadMetricsReporter
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * One side of a join, as the shuffle below it has left it.
 *
 * @param reader the node that reads it, below the join's sort
 * @param specs what of the shuffle each task is to read
 * @param bytes by partition of the shuffle
 */
private[skew] case class ShuffledSide(
    reader: SparkPlan,
    exchange: ShuffleExchangeExec,
    specs: Seq[ShufflePartitionSpec],
    bytes: Array[Long]
) {
  def output: Seq[Attribute] = reader.output

  /** The rows of parts of the shuffle, apart from the plan and its metrics. */
  def rows(parts: Seq[ShufflePartitionSpec]): RDD[InternalRow] = new ShuffledRowRDD(
    exchange.shuffleDependency,
    SQLShuffleReadMetricsReporter.createShuffleReadMetrics(exchange.session.sparkContext),
    parts.toArray)

  /** All of some partitions, in parts that several tasks can read. */
  def specsOf(partitions: Seq[Int], partBytes: Long): Seq[ShufflePartitionSpec] = {
    val parts = partitions.filter(bytes(_) > 0).flatMap { p =>
      ShufflePartitionsUtil
        .createSkewPartitionSpecs(exchange.shuffleDependency.shuffleId, p, partBytes)
        .getOrElse(Seq(whole(p, p + 1)))
    }
    // There has to be one.
    if (parts.isEmpty) Seq(whole(partitions.head, partitions.head + 1)) else parts
  }

  /** The bytes that a task reads. */
  def sizeOf(spec: ShufflePartitionSpec): Long = spec match {
    case CoalescedPartitionSpec(start, end, _)      => bytes.slice(start, end).sum
    case PartialReducerPartitionSpec(_, _, _, size) => size
    case _                                          => 0L
  }

  def whole(start: Int, end: Int): CoalescedPartitionSpec =
    CoalescedPartitionSpec(start, end, Some(bytes.slice(start, end).sum))

  /** A task for each partition. */
  private def inPartitions: ShuffledSide = copy(specs = bytes.indices.map(p => whole(p, p + 1)))
}

private[skew] object ShuffledSide {

  /** What reads a shuffle that was put there for a join, and has only been sorted and filtered since. */
  private def readerOf(child: SparkPlan): Option[SparkPlan] = child match {
    case CodegenBoundaryExec(input)                                     => readerOf(input)
    case sort: RangeSortExec                                            => readerOf(sort.child)
    case SortExec(_, false, input, _)                                   => readerOf(input)
    case ProjectExec(columns, input) if columns.forall(_.deterministic) => readerOf(input)
    case FilterExec(condition, input) if condition.deterministic        => readerOf(input)
    case AQEShuffleReadExec(stage: ShuffleQueryStageExec, _)            =>
      readerOf(stage).map(_ => child)
    case stage: ShuffleQueryStageExec if !stage.supportsColumnar =>
      exchangeOf(stage.shuffle)
        .filter(exchange =>
          exchange.shuffleOrigin == ENSURE_REQUIREMENTS &&
            exchange.outputPartitioning.isInstanceOf[HashPartitioning])
        .map(_ => child)
    case _ => None
  }

  /** The exchange itself, where one is reused. */
  private def exchangeOf(plan: SparkPlan): Option[ShuffleExchangeExec] = plan match {
    case exchange: ShuffleExchangeExec   => Some(exchange)
    case ReusedExchangeExec(_, exchange) => exchangeOf(exchange)
    case _                               => None
  }

  /** A side whose shuffle has run as a stage. */
  def ofStage(child: SparkPlan): Option[ShuffledSide] =
    readerOf(child).flatMap { reader =>
      val (stage, specs) = reader match {
        case AQEShuffleReadExec(stage: ShuffleQueryStageExec, specs) => (Some(stage), specs)
        case stage: ShuffleQueryStageExec                            => (Some(stage), Nil)
        case _                                                       => (None, Nil)
      }
      for {
        shuffled <- stage
        exchange <- exchangeOf(shuffled.shuffle)
        stats <- shuffled.mapStats
      } yield {
        val side = ShuffledSide(reader, exchange, specs, stats.bytesByPartitionId)
        if (specs.nonEmpty) side else side.inPartitions
      }
    }
}
