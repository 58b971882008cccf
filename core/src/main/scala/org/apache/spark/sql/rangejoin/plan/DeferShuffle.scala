// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, IsNotNull, PredicateHelper}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftAnti, LeftSemi}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.{QueryStageExec, ShuffleQueryStageExec}
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec
import org.apache.spark.sql.execution.exchange._
import org.apache.spark.sql.execution.joins.{
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  ShuffledJoin
}
import org.apache.spark.sql.execution.{PlanLater, SortExec, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{
  JoinTypeBehavior,
  LeftSide,
  RightSide,
  Side => JoinSide
}
import org.apache.spark.sql.rangejoin.conf.{InternalConf, RangeJoinConf}
import org.apache.spark.sql.rangejoin.partitioning._
import org.apache.spark.sql.rangejoin.pushdown.ShownLimits

/**
 * Sides of joins without keys that may be far smaller than Spark thinks: it does not know how many rows a
 * filter, a join or an aggregate leaves, nor how many there are in an RDD. Under adaptive execution neither
 * side is shuffled by buckets before that is known, and after each step the join is planned again; where a side is
 * small, as a broadcast join. The steps:
 *
 *  1. What is shuffled or broadcast below a side runs.
 *  2. A side that can be read without a sort is measured ([[SideMeasure]]).
 *  3. A side that is costly to make ([[CostlySide]]) is written instead, by an exchange of Spark's, which the sample
 *     and the join read. Else it would be made for its size, for the sample and for the join.
 *
 * One side, the first, waits for the other's exchanges by a copy of these, of which adaptive execution runs one. The
 * second waits for the first side's buckets to begin ([[AwaitStageExec]]), which needs no copy: joins within joins would
 * contain copies of copies. So no two sides wait for each other, and a query ends even if Spark keeps its plan when a
 * stage has run.
 *
 * Runs last of the rules that prepare stages. Where exchanges are not reused, or the second side has a join by
 * buckets in it, the first side does not wait: its sample may then run what is below the second side once more.
 */
object DeferShuffle extends Rule[SparkPlan] with PredicateHelper {

  override def apply(plan: SparkPlan): SparkPlan = plan.transformUp {
    case join if join.children.size == 2 =>
      join.children.map(bucketsBelow) match {
        case Seq(Some(left), Some(right)) => waiting(join, new Side(left), new Side(right))
        case sides                        => sides.flatten.foldLeft(join) { (join, buckets) =>
            replaced(join, buckets, DeferShuffleExec.of(buckets.child, ofLengths(buckets)))
          }
      }
  }

  /** The buckets of a side of a join that has not been shuffled by them. */
  @tailrec
  private def bucketsBelow(side: SparkPlan): Option[RangeBucketExec] = side match {
    case buckets: RangeBucketExec if !buckets.partitioning.isSingle => Some(buckets)
    case node if node.children.size == 1 => bucketsBelow(node.children.head)
    case _                               => None
  }

  private def replaced(join: SparkPlan, buckets: RangeBucketExec, child: SparkPlan): SparkPlan =
    join.transformDown {
      case node if node.eq(buckets) => buckets.withNewChildren(Seq(child))
    }

  private def waiting(join: SparkPlan, left: Side, right: Side): SparkPlan = {
    val (first, second) =
      if (left.lengths.isPending) if (left.buckets.isOwner) (left, right) else (right, left)
      else if (!right.isAwaited || left.isAwaited && right.isCopied) (left, right)
      else (right, left)
    val measures = Seq(left, right).flatMap(_.measure)
    val ofFirst = first.made(measures, second)
    val ofSecond = second.made(measures, first)
    val untilSecond =
      if (second.isAwaited && second.isCopied) Some(ofSecond) else None
    val untilFirst =
      if (first.isAwaited) Some(AwaitStageExec(first.lengths.begun(first.buckets.isOwner)))
      else None
    def child(made: SparkPlan, until: Option[SparkPlan], side: Side) =
      DeferShuffleExec.of(made, until ++ ofLengths(side.buckets))
    replaced(
      replaced(join, first.buckets, child(ofFirst, untilSecond, first)),
      second.buckets,
      child(ofSecond, untilFirst, second))
  }

  /** Copies wait until an owner of intervals has been shuffled, which counts lengths. */
  private def ofLengths(buckets: RangeBucketExec): Option[SparkPlan] =
    if (buckets.isOwner || !buckets.lengths.isPending) None
    else Some(AwaitStageExec(buckets.lengths.result))

  /** A side of a join, no row of which has been read. */
  private class Side(val buckets: RangeBucketExec) {
    val plan: SparkPlan = buckets.child
    val lengths: OwnerLengths = buckets.lengths

    private val unknown: Option[SideMeasure] =
      if (plan.isInstanceOf[ShuffleQueryStageExec] || !isPipelined(plan)) None
      else lengths.partitioning.measure(buckets.isOwner)

    private val isCostly: Boolean =
      conf.getConf(InternalConf.WriteOnce) &&
        !plan.exists(_.expressions.exists(!_.deterministic)) &&
        CostlySide(
          plan,
          if (unknown.isDefined) plan.outputSet
          else AttributeSet.fromAttributeSets(
            lengths.partitioning.columns(buckets.isOwner).map(_.references)))

    /** Whether there is something to run below. */
    val runs: Boolean = isOn(conf) && plan.exists(running.isDefinedAt)

    /** Whether the other side waits for this one. */
    def isAwaited: Boolean = runs || isCostly

    /**
     * Whether it may be twice in the plan, once only to be waited for. Not with a join by buckets in it: when a stage
     * of this side has run, Spark marks all nodes below the side with its logical plan, and would take a part of the
     * other side for this one.
     */
    def isCopied: Boolean =
      conf.exchangeReuseEnabled && !plan.exists(_.isInstanceOf[RangeBucketExec])

    def measure: Option[SparkPlan] =
      unknown.filterNot(_ => isCostly).map(ProbeExec.exchange(_, plan))

    /**
     * The side, when the measures have been taken; written if it is costly. That is not done before what the other
     * side needs has run: where that turns out small, this one is streamed past its broadcast.
     */
    def made(measures: Seq[SparkPlan], other: Side): SparkPlan =
      if (isCostly) {
        val below = if (other.runs && other.isCopied) Some(other.plan) else None
        write(DeferShuffleExec.of(plan, measures ++ below))
      } else DeferShuffleExec.of(plan, measures)
  }

  private def write(side: SparkPlan): SparkPlan = {
    val exchange =
      ShuffleExchangeExec(RoundRobinPartitioning(side.conf.numShufflePartitions), side)
    side.logicalLink.foreach(exchange.setTagValue(SparkPlan.LOGICAL_PLAN_TAG, _))
    exchange
  }

  /** A side below its buckets, without what has been put there to wait or to write. */
  @tailrec
  private[plan] def sideOf(child: SparkPlan): SparkPlan = child match {
    case DeferShuffleExec(side, _)                            => sideOf(side)
    case exchange: ShuffleExchangeExec if isWriting(exchange) => sideOf(exchange.child)
    case side                                                 => side
  }

  /** Whether an exchange only writes a side; it is not the user's. */
  private[rangejoin] def isWriting(exchange: ShuffleExchangeExec): Boolean =
    exchange.shuffleOrigin == ENSURE_REQUIREMENTS &&
      exchange.outputPartitioning.isInstanceOf[RoundRobinPartitioning]

  /** Whether rows come out as they are read, so that the first ones cost little. */
  private def isPipelined(plan: SparkPlan): Boolean = plan match {
    case stage: QueryStageExec =>
      stage.isMaterialized || !stage.isInstanceOf[ShuffleQueryStageExec]
    case _: BroadcastExchangeLike => true
    case _: ShuffleExchangeLike | _: SortExec | _: ShuffledJoin | _: CartesianProductExec |
        _: BroadcastNestedLoopJoinExec => false
    // The last step of one whose shuffle has run.
    case aggregate: BaseAggregateExec
        if !aggregate.collectLeaves().forall(_.isInstanceOf[QueryStageExec]) => false
    case other => other.children.forall(isPipelined)
  }

  /** What is to be shuffled or broadcast, or is just now. */
  private[plan] val running: PartialFunction[SparkPlan, SparkPlan] = {
    case exchange: Exchange                             => exchange
    case stage: QueryStageExec if !stage.isMaterialized => stage
  }

  // ---------------------------------------------------------------- what is measured

  /** A measure, with the columns that the side had when it was created. */
  private case class Measured(measure: SideMeasure, columns: AttributeSet)

  /**
   * On a join: the measures of its sides, pending or done. Rules of Spark copy this tag to whatever replaces the join,
   * which may be another join, or the same one with fewer columns.
   */
  private val Measures = TreeNodeTag[Map[JoinSide, Measured]]("rangejoin.measures")

  /**
   * The measures that are to be taken before a join is decided. One that is done before the plan of the join is, is
   * waited for all the same: after that the join is planned again.
   */
  def measures(join: Join, conf: SQLConf): Map[JoinSide, SideMeasure] = {
    val known = measuresOf(join).filter { case (side, measured) =>
      side.of(join).outputSet == measured.columns
    }
    val fresh = (if (isMeasured(join, conf)) candidates(join, conf) else Nil)
      .filterNot(known.contains)
      .map(side => side -> Measured(new SideMeasure(limit(conf)), side.of(join).outputSet))
    if (fresh.nonEmpty) join.setTagValue(Measures, known ++ fresh)
    (known ++ fresh).collect {
      case (side, Measured(measure, _)) if measure.isSmall.isEmpty => side -> measure
    }
  }

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

  private def measuresOf(join: Join): Map[JoinSide, Measured] =
    join.getTagValue(Measures).getOrElse(Map.empty)

  private def isOn(conf: SQLConf): Boolean =
    conf.adaptiveExecutionEnabled && conf.getConf(InternalConf.DeferShuffle)

  private def isMeasured(join: Join, conf: SQLConf): Boolean =
    isOn(conf) && conf.getConf(RangeJoinConf.Broadcast) && limit(conf) > 0 &&
      (join.hint.leftHint ++ join.hint.rightHint).isEmpty

  /** Largest side, in bytes, that Spark broadcasts without a hint. */
  private def limit(conf: SQLConf): Long =
    conf.getConf(SQLConf.ADAPTIVE_AUTO_BROADCASTJOIN_THRESHOLD)
      .getOrElse(conf.autoBroadcastJoinThreshold)

  private def candidates(join: Join, conf: SQLConf): Seq[JoinSide] = {
    val sides = JoinTypeBehavior.of(join.joinType).toSeq
      .flatMap(_.streamed.fold(Seq[JoinSide](LeftSide, RightSide))(kept => Seq(kept.other)))
    sides.filter { side =>
      val plan = side.of(join)
      isUnknown(plan, conf) && !hasJoinWithoutKeys(plan)
    }
  }

  /** Nested joins without a key are excluded: every level would multiply the copies of its sides. */
  private def hasJoinWithoutKeys(side: LogicalPlan): Boolean =
    side.exists(PartitionRangeJoins.isWithoutKeys)

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
