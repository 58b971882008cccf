// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.concurrent.TimeUnit.NANOSECONDS

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeCondition, Side}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, JobDescription}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * The layout of the buckets of one join, which both of its sides use: chosen once, when the first of them is about to
 * run, and kept as long as the plan. The two sides of a join in one plan share one object, and two joins never do: that
 * is what makes an exchange over a [[RangeBucketExec]] equal to another one.
 *
 * To choose it, a sample of the bounds of both sides is read: a query of its own, of the columns the bounds
 * need. Rows may be other ones when they are read for the join: nothing but balance depends on the sample. How far
 * copies look back follows from what is shuffled (see [[OwnerLengths]]).
 *
 * Lives on the driver.
 *
 * @param others ranges that may drive the join within its buckets, if there are fewer pairs in them
 * @param isTiny whether partitioning is not worth it: there is one bucket, and nothing is read
 * @param measures of sides of which it is not known whether they are small
 */
final class JoinPartitioning(
    session: SparkSession,
    val range: PartitionedRange,
    others: Seq[RangeCondition],
    left: LogicalPlan,
    right: LogicalPlan,
    val isTiny: Boolean,
    measures: Map[Side, SideMeasure]
) extends Logging {
  import JoinPartitioning._

  /**
   * A layout, and what there is to say of it.
   *
   * @param buckets in which there are rows of the owner, by the sample
   * @param largest how many rows there are in the largest of them, likewise
   * @param driving the range that drives the join within the buckets, if it is another than that of the buckets
   */
  case class Chosen(
      layout: BucketLayout,
      buckets: Int,
      largest: Long,
      driving: Option[RangeCondition] = None,
      millis: Long = 0)

  @volatile private var chosen: Option[Chosen] = None

  @volatile private var best: Option[(BestOrder, Seq[Attribute])] = None

  /** Says that no more is copied than the best rows; see [[BestCopies]]. */
  def copyBest(order: BestOrder, output: Seq[Attribute]): Unit = best = Some(order -> output)

  /** The layout, if it has been chosen. */
  def layout: Option[BucketLayout] = chosen.map(_.layout)

  /** The range that drives the join within the buckets, if it is known to be another one. */
  def driving: Option[RangeCondition] = chosen.flatMap(_.driving)

  def isOwner(side: Side): Boolean = side == range.owner

  /** The measure of the owner, or of the other side. */
  def measure(isOwner: Boolean): Option[SideMeasure] =
    measures.get(if (isOwner) range.owner else range.owner.other)

  /** Whether the layout needs no look at the rows. */
  def isSingle: Boolean = isTiny && forced == 0 || forced == 1

  private def forced: Int =
    session.sessionState.conf.getConf(InternalConf.RangePartitioningBuckets)

  /** The layout, which is chosen when it is first asked for. A failure is not kept: the next one to ask chooses anew. */
  def get(): Chosen = synchronized {
    chosen.getOrElse {
      val now = session.withActive(choose())
      chosen = Some(now)
      now
    }
  }

  private def choose(): Chosen = {
    val start = System.nanoTime()
    val partitions = session.sessionState.conf.numShufflePartitions
    if (isSingle) {
      Chosen(BucketLayout.single(range.dataType, BucketIds(1, partitions).head), 1, 0L)
    } else {
      val bound = range.ofOwner.low.orElse(range.ofOwner.high).get.child.sql
      val found = JobDescription.within(
        session.sparkContext,
        s"range join without a key: bounds of $bound")(chooseBySample(partitions))
      val millis = NANOSECONDS.toMillis(System.nanoTime() - start)
      logInfo(s"Range join without a key: ${found.buckets} buckets, chosen in $millis ms")
      found.copy(millis = millis)
    }
  }

  private def chooseBySample(partitions: Int): Chosen = {
    val most = if (forced > 0) forced else BucketsPerPartition * partitions
    val sampleSize = BoundSampling.sizeFor(most)
    def side(isOwner: Boolean) =
      BoundSampling.side(boundsOf(isOwner), ranges.map(_.bounds(isOwner)))
    val (ofOwner, ofCopied) =
      BoundSampling.sample(side(isOwner = true), side(isOwner = false), sampleSize)
    val (owner, copied) = (ofOwner.head, ofCopied.head)
    val worth = ((owner.rows + copied.rows) / RowsPerBucket).toInt
    val buckets = if (forced > 0) forced else math.max(1, math.min(most, worth))
    val areFew = best.exists { case (order, output) =>
      BestCopies.fit(order, most.toLong, output, copied.ties)
    }
    val copies = if (areFew) copied.asPoints(range.ofCopied.mayBeUnknown) else copied
    val planner = new LayoutPlanner(range.dataType, owner, copies, buckets, forced > 0)
    val layout =
      if (range.isPoint) planner.layout(Lengths.Zero, partitions)
      else planner.layoutForAnyLengths(partitions)
    val expected = if (range.isPoint) layout else planner.expected(layout)
    val better = otherRanges.indices
      .map(i =>
        i -> planner.timesFewer(expected, otherRanges(i)._2, ofOwner(i + 1), ofCopied(i + 1)))
      .filter(_._2 >= TimesFewer).sortBy(-_._2).headOption
    Chosen(
      layout,
      expected.usedBuckets,
      planner.largest(expected).toLong,
      better.map { case (i, _) => otherRanges(i)._1 })
  }

  /** Other ranges, and the positions of rows in them. */
  private lazy val otherRanges: Seq[(RangeCondition, PartitionedRange)] =
    others.map(other => other -> PartitionedRange.positions(other, range.owner))

  private def ranges: Seq[PartitionedRange] = range +: otherRanges.map(_._2)

  /** What is read of the rows of a side for the sample. */
  def columns(isOwner: Boolean): Seq[Expression] = ranges.flatMap(_.bounds(isOwner).columns)

  private[partitioning] def boundsOf(isOwner: Boolean): SparkPlan = {
    val side = if (isOwner == (range.owner == LeftSide)) left else right
    SamplePlan(session, columns(isOwner), side)
  }

  override def toString: String = s"range partitioning ${System.identityHashCode(this)}"
}

object JoinPartitioning {

  /** More buckets than tasks, so that a task with a large one has fewer rows elsewhere. */
  private val BucketsPerPartition = 4

  /** Fewer rows are not worth a bucket. */
  private val RowsPerBucket = 2000

  /** A sample is rough: another range drives only if it has this many times fewer pairs. */
  private val TimesFewer = 1.5
}
