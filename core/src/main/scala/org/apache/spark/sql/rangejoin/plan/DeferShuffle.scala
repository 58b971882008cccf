// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, IsNotNull, PredicateHelper}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.{
  LogicalQueryStage,
  QueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.joins.BroadcastNestedLoopJoinExec
import org.apache.spark.sql.execution.{PlanLater, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{JoinTypeBehavior, LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.partitioning.{
  DeferShuffleExec,
  ProbeExec,
  RangeBucketExec,
  SideMeasure
}
import org.apache.spark.sql.rangejoin.pushdown.ShownLimits

/**
 * Sides of joins without keys that may be far smaller than Spark thinks: it does not know how many rows a
 * filter, a join or an aggregate leaves, nor how many there are in an RDD. Under adaptive execution neither
 * side is shuffled by buckets before that is known: what is shuffled below a side is shuffled first, and then
 * a side that can be read without a sort is measured, unless it is costly and written first
 * ([[WriteCostlySides]]). After that the join is planned again; where a side is small, as a broadcast join.
 */
object DeferShuffle extends PredicateHelper {

  /** A measure, with the columns that the side had when it was created. */
  private case class Measured(measure: SideMeasure, columns: AttributeSet)

  /**
   * On a join: the measures of its sides, pending or done. Rules of Spark copy this tag to whatever replaces the join,
   * which may be another join, or the same one with fewer columns.
   */
  private val Measures = TreeNodeTag[Map[Side, Measured]]("rangejoin.measures")

  /** Both sides of a join. Each waits for what reveals the sizes, unless both are known to be small. */
  def of(join: Join, conf: SQLConf, isSmall: Boolean): Map[Side, SparkPlan] = {
    val measures = if (isSmall) Nil else pending(join, conf)
    Seq[Side](LeftSide, RightSide).map { side =>
      val plan = PlanLater(side.of(join))
      val others = measures ++ (if (isSmall) None else shuffledBelow(side.other.of(join), conf))
      side -> (if (others.isEmpty) plan else DeferShuffleExec(plan, others))
    }.toMap
  }

  /**
   * The measures to be taken before the join is decided, as far as [[RemoveRedundantDeferrals]] finds them
   * worth it.
   */
  private def pending(join: Join, conf: SQLConf): Seq[SparkPlan] = {
    val measures = measuresOf(join).filter { case (side, measured) =>
      side.of(join).outputSet == measured.columns
    }
    val fresh = (if (isMeasured(join, conf)) candidates(join, conf) else Nil)
      .filterNot(measures.contains)
      .map(side => side -> Measured(new SideMeasure(limit(conf)), side.of(join).outputSet))
    if (fresh.nonEmpty) join.setTagValue(Measures, measures ++ fresh)
    (measures ++ fresh).toSeq.collect {
      case (side, Measured(measure, _))
          if measure.isSmall.isEmpty && !isWritten(side.of(join)) =>
        ProbeExec.exchange(measure, PlanLater(side.of(join)))
    }
  }

  /**
   * A side that may contain shuffles. It is planned twice, once only to be waited for;
   * [[RemoveRedundantDeferrals]] keeps the wait only if both plans run the same shuffles. None
   * where there is another join without keys below.
   */
  private def shuffledBelow(side: LogicalPlan, conf: SQLConf): Option[SparkPlan] =
    if (runsOnce(conf) && !isReadOrShuffled(side) && !hasJoinWithoutKeys(side))
      Some(PlanLater(side))
    else None

  /** The join as Spark would plan it if it had known that a side is small; None unless one is. */
  def overSmall(join: Join): Option[SparkPlan] = {
    // A side that was small stays small with fewer columns.
    val small = measuresOf(join).collectFirst {
      case (side, measured)
          if measured.measure.isSmall.contains(true) &&
            side.of(join).outputSet.subsetOf(measured.columns) => side
    }
    small.map { side =>
      BroadcastNestedLoopJoinExec(
        PlanLater(join.left),
        PlanLater(join.right),
        if (side == LeftSide) BuildLeft else BuildRight,
        join.joinType,
        join.condition)
    }
  }

  private def measuresOf(join: Join): Map[Side, Measured] =
    join.getTagValue(Measures).getOrElse(Map.empty)

  private def isOn(conf: SQLConf): Boolean =
    conf.adaptiveExecutionEnabled && conf.getConf(InternalConf.DeferShuffle)

  /**
   * Whether a plan that is made twice, once only to be waited for, runs its exchanges once (exchange reuse).
   */
  private def runsOnce(conf: SQLConf): Boolean = isOn(conf) && conf.exchangeReuseEnabled

  private def isMeasured(join: Join, conf: SQLConf): Boolean =
    isOn(conf) && conf.getConf(RangeJoinConf.Broadcast) && limit(conf) > 0 &&
      (join.hint.leftHint ++ join.hint.rightHint).isEmpty

  /** Largest side, in bytes, that Spark broadcasts without a hint. */
  private def limit(conf: SQLConf): Long =
    conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD)
      .getOrElse(conf.autoBroadcastJoinThreshold)

  private def candidates(join: Join, conf: SQLConf): Seq[Side] = {
    val sides = JoinTypeBehavior.of(join.joinType).toSeq
      .flatMap(_.streamed.fold(Seq[Side](LeftSide, RightSide))(kept => Seq(kept.other)))
    sides.filter { side =>
      val plan = side.of(join)
      isUnknown(plan, conf) && !hasJoinWithoutKeys(plan)
    }
  }

  /** Nested joins without a key are excluded: every level would multiply the planning of its sides. */
  private def hasJoinWithoutKeys(side: LogicalPlan): Boolean =
    side.exists(PartitionRangeJoins.isWithoutKeys)

  /** Whether the side has been written, so that its size is known. */
  private def isWritten(side: LogicalPlan): Boolean = side match {
    case LogicalQueryStage(_, physical) =>
      val written = physical match {
        case buckets: RangeBucketExec => WriteCostlySides.sideOf(buckets.child)
        case other                    => other
      }
      written.isInstanceOf[ShuffleQueryStageExec]
    case _ => false
  }

  /** Whether all there is to do is to read rows and look at each; what was shuffled is there. */
  private def isReadOrShuffled(plan: LogicalPlan): Boolean = plan match {
    case LogicalQueryStage(_, physical)                  => !physical.exists(running.isDefinedAt)
    case _: Project | _: Filter | _: Generate | _: Union => plan.children.forall(isReadOrShuffled)
    case other                                           => other.isInstanceOf[LeafNode]
  }

  /** What is to be shuffled or broadcast, or is just now. */
  private[plan] val running: PartialFunction[SparkPlan, SparkPlan] = {
    case exchange: Exchange                             => exchange
    case stage: QueryStageExec if !stage.isMaterialized => stage
  }

  /**
   * Whether a side may be far smaller than Spark thinks. `IsNotNull` says nothing, as nearly every
   * plan has it. Inferred limits are ignored too, since the user wrote no filter there.
   */
  private def isUnknown(plan: LogicalPlan, conf: SQLConf): Boolean = plan match {
    case Filter(condition, child) =>
      splitConjunctivePredicates(condition).exists {
        case _: IsNotNull => false
        case predicate    => !ShownLimits.isInferred(predicate)
      } ||
      isUnknown(child, conf)
    case Join(_, _, _: InnerLike | LeftSemi | LeftAnti, _, _) => true
    case leaf: LeafNode => leaf.stats.sizeInBytes >= conf.defaultSizeInBytes
    case _              => plan.children.forall(isUnknown(_, conf))
  }
}
