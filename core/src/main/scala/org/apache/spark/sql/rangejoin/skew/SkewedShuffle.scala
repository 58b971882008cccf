// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import scala.PartialFunction.condOpt

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeExec}
import org.apache.spark.sql.execution.metric.SQLShuffleReadMetricsReporter
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * The shuffle of both sides of a join, some partitions of which are far larger than what a task ought to
 * have: all bytes divided by the number of tasks that Spark's own coalescing aims at.
 *
 * @param skewed these partitions, rising
 * @param target bytes of both sides that a task ought to have
 * @param largest bytes that the longest task would read
 * @param rest by task that is left alone, what it reads of the left side and of the right one
 */
private[skew] case class SkewedShuffle(
    sides: Map[Side, ShuffledSide],
    skewed: Seq[Int],
    target: Long,
    largest: Long,
    rest: Seq[(ShufflePartitionSpec, ShufflePartitionSpec)]
) {

  def skewedBytes(side: Side): Long = skewed.map(sides(side).bytes(_)).sum

  def skewedBytes: Long = skewedBytes(LeftSide) + skewedBytes(RightSide)

  def larger: Side = if (skewedBytes(RightSide) > skewedBytes(LeftSide)) RightSide else LeftSide

  /** The skewed partitions, in parts that several tasks can read. */
  lazy val skewedSpecs: Map[Side, Seq[ShufflePartitionSpec]] =
    sides.map { case (side, shuffled) => side -> shuffled.specsOf(skewed, target) }

  /** The rows of the skewed partitions. */
  def skewedRows(side: Side): RDD[InternalRow] = sides(side).rows(skewedSpecs(side))

  /** What stays as it is, which may be nothing, by task. */
  def restSpecs(side: Side): Seq[ShufflePartitionSpec] =
    rest.map { case (left, right) => side.of(left, right) }
}

private[skew] object SkewedShuffle {

  /** A partition is skewed if it has more than this many times the target size of a task. */
  private val Behind = 1.5

  /** Cost of sampling and reshuffling a row, relative to sorting and joining it. */
  private val CostOfSplitting = 2.5

  /** The longest task has to take more than this many times the estimate with splitting. */
  private val Margin = 1.3

  /**
   * The shuffle of a join; None where it is even, or small, or not the join's own.
   *
   * @param threshold bytes that splitting has to save the longest task
   * @param isForced whether all partitions are skewed
   */
  def of(
      left: ShuffledSide,
      right: ShuffledSide,
      threshold: Long,
      isForced: Boolean): Option[SkewedShuffle] = {
    val sides = Side.Both.map(side => side -> side.of(left, right)).toMap
    for {
      all <- Some(left.bytes.toSeq.zip(right.bytes).map { case (l, r) => l + r })
      if left.bytes.length == right.bytes.length && left.specs.size == right.specs.size
      target = targetBytes(left.exchange, all)
      skewed = all.indices.filter(p => if (isForced) all(p) > 0 else all(p) > Behind * target)
      ofTasks = left.specs.zip(right.specs).map { case (l, r) => left.sizeOf(l) + right.sizeOf(r) }
      longest = (0L +: ofTasks).max
      if skewed.nonEmpty && (isForced || saved(all, skewed, target, longest) > threshold)
      rest <- restOf(left, right, skewed.toSet)
    } yield SkewedShuffle(sides, skewed, target, longest, rest)
  }

  /**
   * Bytes saved on the longest task of Spark's plan, compared with the longest one after
   * splitting, at worst. All tasks share the cost of reshuffling.
   */
  private def saved(bytes: Seq[Long], skewed: Seq[Int], target: Long, longest: Long): Double = {
    val splitting = CostOfSplitting * skewed.map(bytes(_)).sum / bytes.sum
    longest - Margin * (splitting + Behind) * target
  }

  private def targetBytes(plan: SparkPlan, bytes: Seq[Long]): Long = {
    val conf = plan.conf
    val fewest = conf.getConf(SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_NUM).getOrElse {
      if (conf.getConf(SQLConf.COALESCE_PARTITIONS_PARALLELISM_FIRST))
        plan.session.sparkContext.defaultParallelism
      else 1
    }
    val advised = bytes.sum / conf.getConf(SQLConf.ADVISORY_PARTITION_SIZE_IN_BYTES)
    val tasks = math.max(1L, math.min(bytes.size.toLong, math.max(fewest.toLong, advised)))
    math.max(conf.getConf(SQLConf.COALESCE_PARTITIONS_MIN_PARTITION_SIZE), bytes.sum / tasks)
  }

  /** What tasks read without the skewed partitions; None where it is not known which these are. */
  private def restOf(left: ShuffledSide, right: ShuffledSide, skewed: Set[Int])
      : Option[Seq[(ShufflePartitionSpec, ShufflePartitionSpec)]] = {
    val rest = left.specs.zip(right.specs).map {
      case (CoalescedPartitionSpec(start, end, _), CoalescedPartitionSpec(start2, end2, _))
          if start == start2 && end == end2 =>
        Some(runs((start until end).filterNot(skewed)).collect {
          case (from, to) if (from until to).exists(p => left.bytes(p) + right.bytes(p) > 0) =>
            (left.whole(from, to), right.whole(from, to))
        })
      // Parts of a partition that is skewed.
      case (l, r) =>
        for (p <- partitionOf(l); q <- partitionOf(r) if p == q)
          yield if (skewed(p)) Nil else Seq((l, r))
    }
    if (rest.forall(_.isDefined)) Some(rest.flatMap(_.get)) else None
  }

  private def partitionOf(spec: ShufflePartitionSpec): Option[Int] = condOpt(spec) {
    case PartialReducerPartitionSpec(p, _, _, _)           => p
    case CoalescedPartitionSpec(p, end, _) if end == p + 1 => p
  }

  /** Rising numbers as ranges of neighbours, the end excluded. */
  private def runs(numbers: Seq[Int]): Seq[(Int, Int)] =
    numbers.foldLeft(List.empty[(Int, Int)]) {
      case ((from, to) :: done, n) if n == to => (from, n + 1) :: done
      case (done, n)                          => (n, n + 1) :: done
    }.reverse
}

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
      exchangeOf(stage)
        .filter(exchange =>
          exchange.shuffleOrigin == ENSURE_REQUIREMENTS &&
            exchange.outputPartitioning.isInstanceOf[HashPartitioning])
        .map(_ => child)
    case _ => None
  }

  /** The exchange itself, where one is reused. */
  private def exchangeOf(stage: ShuffleQueryStageExec): Option[ShuffleExchangeExec] =
    condOpt(stage.shuffle) { case exchange: ShuffleExchangeExec => exchange }

  /** A side whose shuffle has run as a stage. */
  def ofStage(child: SparkPlan): Option[ShuffledSide] =
    for {
      reader <- readerOf(child)
      (stage, specs) <- condOpt(reader) {
        case AQEShuffleReadExec(stage: ShuffleQueryStageExec, specs) => (stage, specs)
        case stage: ShuffleQueryStageExec                            => (stage, Nil)
      }
      exchange <- exchangeOf(stage)
      stats <- stage.mapStats
      side = ShuffledSide(reader, exchange, specs, stats.bytesByPartitionId)
    } yield if (specs.nonEmpty) side else side.inPartitions
}
