// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.DeterministicLevel
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, PlanExpression}
import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.{RangeExtractor, Side}
import org.apache.spark.sql.rangejoin.conf.{JobCancelled, JobDescription}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.{
  BestCopies,
  BoundSampling,
  KeyedColumns,
  Lengths,
  PartitionedRange
}

/** A join with skewed partitions. */
private[skew] class SkewedJoin(join: SortMergeRangeJoinExec, val shuffle: SkewedShuffle)
    extends Logging {
  import SkewedJoin._

  def keys(side: Side): Seq[Expression] = side.of(join.leftKeys, join.rightKeys)

  /** The side whose rows want their best matches alone, and their order, if one does and it is known. */
  private val wanted: Option[(Side, BestOrder)] = BestCopies.wanted(join)

  /** The side that is ranked for, where few rows of the other one have to be copied; else the larger one. */
  private def likelyOwner: Side =
    wanted.collect { case (side, order) if areFew(order, side.other) => side }
      .getOrElse(shuffle.larger)

  /** Whether the best rows of a side are sure to be few. */
  private def areFew(order: BestOrder, copied: Side): Boolean =
    BestCopies.fit(order, MostBuckets * numPartitions, shuffle.sides(copied).output)

  /** Number of partitions to split the rows into. */
  private def numPartitions: Long = shuffle.skewedBytes / shuffle.target + 1

  /** How its rows can be split, or why they cannot be. */
  def range: Either[String, PartitionedRange] =
    if (join.joinType == FullOuter) Left("a FULL OUTER join keeps the rows of both sides")
    else {
      for {
        range <- RangeExtractor.extract(join)
          .toOption
          .flatMap(PartitionedRange.of(_, join.joinType, likelyOwner))
          .filter(range => isOfShuffles(needed(range)) && (range.isBounded || wanted.isDefined))
          .toRight("there is no range over columns of the shuffle")
        // It has no result before the stage runs.
        _ <- Either.cond(
          !needed(range).values.flatten.exists(_.exists(_.isInstanceOf[PlanExpression[_]])),
          (),
          "a key or a bound has a subquery")
      } yield range
    }

  /** Keys and bounds of both sides. */
  private def needed(range: PartitionedRange): Map[Side, Seq[Expression]] =
    Side.Both.map(side => side -> (keys(side) ++ range.bounds(side == range.owner).columns)).toMap

  /** Whether keys and bounds are of columns that are shuffled. */
  private def isOfShuffles(needed: Map[Side, Seq[Expression]]) =
    needed.forall { case (side, expressions) =>
      AttributeSet.fromAttributeSets(expressions.map(_.references))
        .subsetOf(AttributeSet(shuffle.sides(side).output)) && expressions.forall(_.deterministic)
    }

  /**
   * How they are split, or why they are not.
   *
   * @param forced the number of buckets for each key, whatever it is worth; 0: where that is worth it
   */
  def choose(range: PartitionedRange, forced: Int): Either[String, SkewSplit] = {
    val start = System.nanoTime()
    try {
      val plan = JobDescription.within(
        join.session.sparkContext,
        s"range join: skewed values of ${join.leftKeys.map(_.sql).mkString(", ")}")(
        choosePlan(range, forced))
      chosen(range, plan, forced, NANOSECONDS.toMillis(System.nanoTime() - start))
    } catch {
      case e @ JobCancelled() => throw e
      // The query does not depend on it, and has the same error again if it is one of its own.
      case NonFatal(e) =>
        logWarning("Skewed keys are not split: looking for them has failed", e)
        Left(s"looking for them has failed: ${e.getMessage}")
    }
  }

  private def chosen(
      range: PartitionedRange,
      plan: KeyedPlan,
      forced: Int,
      millis: Long): Either[String, SkewSplit] = {
    val partitions = shuffle.skewed.size
    logInfo(s"Range join: $partitions skewed partitions, ${plan.skewedKeys} skewed keys in " +
      s"${plan.buckets} buckets, chosen in $millis ms")
    Either.cond(
      forced > 0 || plan.largest < worthIt(plan),
      SkewSplit(range, plan, millis, partitions, bestOf(range)),
      "the range cannot split the keys: all rows of a key are alike, or match almost all others"
    )
  }

  /** The order by which the best rows alone are copied. */
  private def bestOf(range: PartitionedRange): Option[BestOrder] =
    wanted.collect { case (side, order) if side == range.owner => order }

  /** The layout, for which the skewed partitions are read. */
  private def choosePlan(range: PartitionedRange, forced: Int): KeyedPlan = {
    def columns(side: Side) = {
      val bounds = range.bounds(side == range.owner)
      new KeyedColumns(keys(side), bounds.columns, bounds.ordinals, shuffle.sides(side).output)
    }
    def sampled(side: Side) = BoundSampling.side(shuffle.skewedRows(side), columns(side))
    val sampleSize = BoundSampling.sizeFor(numPartitions)
    val (Seq(owner), Seq(copied)) =
      BoundSampling.sample(sampled(range.owner), sampled(range.owner.other), sampleSize): @unchecked
    val rows = owner.rows + copied.rows
    val target = math.max(1.0, rows * shuffle.target / math.max(1L, shuffle.skewedBytes))
    val areBestFew = bestOf(range).exists(areFew(_, range.owner.other))
    val copies = if (areBestFew) copied.asPoints(range.ofCopied.mayBeUnknown) else copied
    val planner = new KeyedLayoutPlanner(range, owner, copies, target, forced)
    def ofEach(lengths: Lengths) = planner.hashes.toSeq.map(_ => lengths)
    planner.plan(
      if (range.isPoint || planner.hashes.isEmpty) ofEach(Lengths.Zero)
      else if (!isRepeatable(range.owner)) ofEach(Lengths.Unbounded)
      else {
        val rows = shuffle.skewedRows(range.owner)
        KeyedLengths.of(rows, columns(range.owner), planner.hashes, planner.cells)
      })
  }

  /**
   * Whether recomputing lost rows of a side yields the same rows, as far as Spark knows. If a
   * recomputed row is longer nevertheless, its task fails.
   */
  private def isRepeatable(side: Side): Boolean =
    shuffle.sides(side).exchange.shuffleDependency.rdd.outputDeterministicLevel !=
      DeterministicLevel.INDETERMINATE

  /** Split only if the largest task then has fewer rows than this. */
  private def worthIt(plan: KeyedPlan): Double =
    WorthIt * plan.rows * shuffle.largest / shuffle.skewedBytes
}

private[skew] object SkewedJoin {

  /**
   * Limit to the buckets of all keys together, per partition wanted: each key gets as many buckets as partitions it
   * fills, rounded up.
   */
  private val MostBuckets = 2L

  /** Splitting is worth it only if the largest task shrinks below this fraction of its size. */
  private val WorthIt = 0.7
}
