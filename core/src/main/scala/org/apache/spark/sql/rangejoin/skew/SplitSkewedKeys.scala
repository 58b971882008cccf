// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import scala.PartialFunction.cond

import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, AQEShuffleReadRule}
import org.apache.spark.sql.execution.exchange.{ShuffleOrigin, ValidateRequirements}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.join.WithTagsOf
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.PartitionedRange

/**
 * Splits skewed keys of sort-merge range joins by the range, under adaptive execution. When the stage of a
 * join is about to run, both of its sides have been shuffled, and the sizes of their partitions are known:
 * where one is far larger than a task should read, its rows are sampled and shuffled again, to several
 * tasks (see [[SkewReshuffleExec]]). Other partitions are read unchanged.
 *
 * So a join of many even keys pays nothing, and one of few keys a second shuffle. Not done where an operator
 * above the join in the same stage relies on rows being together by key; where the user has asked for the
 * shuffle, or has switched off the handling of skewed joins; or below a limit, which may not need most tasks
 * of the join.
 */
object SplitSkewedKeys extends AQEShuffleReadRule {

  override protected def supportedShuffleOrigins: Seq[ShuffleOrigin] = Nil

  private def forced: Int = conf.getConf(InternalConf.SkewBuckets)

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.Skew) ||
      forced == 0 && (!conf.getConf(SQLConf.SKEW_JOIN_ENABLED) || isLimited(plan))) plan
    else joins(plan).indices.reverse.foldLeft(plan)(splitJoin)

  private def joins(plan: SparkPlan): Seq[SortMergeRangeJoinExec] =
    plan.collect { case join: SortMergeRangeJoinExec => join }

  private def skewedJoin(join: SortMergeRangeJoinExec): Option[SkewedJoin] =
    for {
      left <- ShuffledSide.ofStage(join.left)
      right <- ShuffledSide.ofStage(join.right)
      shuffle <-
        SkewedShuffle.of(left, right, conf.getConf(InternalConf.SkewThreshold), forced > 0)
    } yield new SkewedJoin(join, shuffle)

  /** The plan with one of its joins split, where that is worth it. */
  private def splitJoin(plan: SparkPlan, index: Int): SparkPlan = {
    val join = joins(plan)(index)
    skewedJoin(join).fold(plan) { skewed =>
      def planWith(range: PartitionedRange, split: Option[SkewSplit]) = plan.transformUp {
        case j: SortMergeRangeJoinExec if j.eq(join) => over(join, skewed, range, split)
      }
      val split = for {
        range <- skewed.range
        _ <- Either.cond(
          ValidateRequirements.validate(planWith(range, None)),
          (),
          "an operator above the join needs the rows of a key in one task")
        split <- skewed.choose(range, forced)
      } yield planWith(range, Some(split))
      split.left.foreach { why =>
        logInfo(s"Skewed keys are not split: $why\n${join.simpleString(100)}")
        join.setTagValue(SortMergeRangeJoinExec.NotSplit, why)
      }
      split.getOrElse(plan)
    }
  }

  /** A join over reshuffled partitions; its children do not have all rows of a key in one place. */
  private def over(
      join: SortMergeRangeJoinExec,
      skewed: SkewedJoin,
      range: PartitionedRange,
      split: Option[SkewSplit]): SortMergeRangeJoinExec = {
    def reshuffled(side: Side, child: SparkPlan) = {
      val isOwner = side == range.owner
      val reader = skewed.shuffle.sides(side).reader
      val shuffled = SkewReshuffleExec(
        isOwner,
        skewed.keys(side),
        range.bounds(isOwner).columns,
        split,
        Seq(skewed.shuffle.restSpecs(side), skewed.shuffle.skewedSpecs(side))
          .filter(_.nonEmpty)
          .map(AQEShuffleReadExec(stageOf(reader), _))
      )
      child.transformUp { case node if node.eq(reader) => shuffled }
    }
    WithTagsOf(join)(join.copy(
      left = reshuffled(LeftSide, join.left),
      right = reshuffled(RightSide, join.right),
      isSkewJoin = true))
  }

  private def stageOf(reader: SparkPlan): SparkPlan = reader match {
    case AQEShuffleReadExec(stage, _) => stage
    case stage                        => stage
  }

  /** Whether a stage ends in a limit that reads no more rows than it needs. */
  private def isLimited(plan: SparkPlan): Boolean = cond(plan) {
    case _: CollectLimitExec | _: CollectTailExec | _: LimitExec => true
    case node: OrderPreservingUnaryExecNode                      => isLimited(node.child)
    case union: UnionExec                                        => union.children.exists(isLimited)
  }
}
