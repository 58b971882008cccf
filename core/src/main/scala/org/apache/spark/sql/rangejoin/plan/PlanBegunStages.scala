// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.catalyst.plans.physical.BroadcastPartitioning
import org.apache.spark.sql.execution.adaptive.{
  AQEShuffleReadRule,
  BroadcastQueryStageExec,
  InvalidAQEPlanException,
  LogicalQueryStage,
  OptimizeShuffleWithLocalRead
}
import org.apache.spark.sql.execution.exchange.ShuffleOrigin
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, BroadcastNestedLoopJoinExec}
import org.apache.spark.sql.execution.{PlanLater, ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.index.RangeIndexMode
import org.apache.spark.sql.rangejoin.partitioning.RangeBucketExec

/**
 * Replans a join one side of which is a stage that was made for it, running or finished; the
 * counterpart of `LogicalQueryStageStrategy`, which does it for the broadcasts of Spark's own
 * joins.
 *
 *  - A side that is broadcast as a range index: as the join the index was made for.
 *  - A side that is shuffled by its buckets: the other side gets buckets of the same `JoinPartitioning`.
 *
 * Settings and sizes are ignored. If the stage was made for another join, replanning is refused
 * (`InvalidAQEPlanException`) and the current plan stays.
 */
object PlanBegunStages extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join: Join =>
      val indexed = stagesOf(join)(indexedStage)
      val bucketed = if (indexed.isEmpty) stagesOf(join)(bucketedStage) else Nil
      if (indexed.nonEmpty) Seq(joinOverIndex(join, indexed))
      else if (bucketed.nonEmpty) Seq(joinOverBuckets(join, bucketed.toMap))
      else Nil
    // A stage below the bucket node has run: the join is planned afresh, over the side without its buckets.
    case LogicalQueryStage(_, bucket: RangeBucketExec) =>
      Seq(DeferShuffle.sideOf(bucket.child))
    // Shuffled by its buckets, but without the join: Spark found that the other side is empty.
    case stage @ LogicalQueryStage(_, physical) if RangeBucketExec.below(physical).isDefined =>
      if (RangeBucketExec.below(physical).exists(_.isOwner))
        Seq(ProjectExec(stage.output, physical))
      else throw otherBuckets(physical)
    case _ => Nil
  }

  private def stagesOf[S](join: Join)(stageOf: LogicalQueryStage => Option[S]): Seq[(Side, S)] =
    Side.Both.map(side => side -> side.of(join)).collect {
      case (side, stage: LogicalQueryStage) => stageOf(stage).map(side -> _)
    }.flatten

  // ---------------------------------------------------------------- a range index

  /** The mode of the range index that a plan broadcasts, if it broadcasts one. */
  private[plan] def indexOf(plan: SparkPlan): Option[RangeIndexMode] =
    condOpt(plan.outputPartitioning) { case BroadcastPartitioning(mode: RangeIndexMode) => mode }

  private def indexedStage(stage: LogicalQueryStage): Option[BroadcastQueryStageExec] =
    condOpt(stage.physicalPlan) {
      case broadcast: BroadcastQueryStageExec if indexOf(broadcast.broadcast).isDefined =>
        broadcast.setLogicalLink(stage)
        broadcast
    }

  private def joinOverIndex(
      join: Join,
      stages: Seq[(Side, BroadcastQueryStageExec)]
  ): SparkPlan = {
    val planned = for {
      (side, stage) <- stages
      mode <- indexOf(stage.broadcast)
      ours <- rangeJoin(join, side, stage, mode)
      if ours.mode.canonicalized == mode.canonicalized
    } yield ours.overHidden(stage)
    planned.headOption.getOrElse(throw InvalidAQEPlanException(
      "A range index was broadcast for another join",
      stages.head._2))
  }

  private def rangeJoin(
      join: Join,
      side: Side,
      stage: BroadcastQueryStageExec,
      mode: RangeIndexMode
  ): Option[BroadcastRangeJoinExec] = {
    val (buildSide, left, right) = side match {
      case LeftSide  => (BuildLeft: BuildSide, stage, planLater(join.right))
      case RightSide => (BuildRight: BuildSide, planLater(join.left), stage)
    }
    // A nested loop join may contain equalities that Spark did not use as hash keys; the keys of the index tell which
    // join it was built for.
    val stock = join match {
      case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, condition, _, _, _, _)
          if mode.keys.nonEmpty =>
        BroadcastHashJoinExec(leftKeys, rightKeys, joinType, buildSide, condition, left, right)
      case _ =>
        BroadcastNestedLoopJoinExec(left, right, buildSide, join.joinType, join.condition)
    }
    BroadcastRangeJoinExec.of(stock).filter(_.extracted.isRight)
  }

  // ---------------------------------------------------------------- buckets

  /** A stage whose last column is the bucket of its rows. */
  private case class Stage(logical: LogicalPlan, physical: SparkPlan, bucket: RangeBucketExec)

  private def bucketedStage(stage: LogicalQueryStage): Option[Stage] =
    Some(stage.physicalPlan).filterNot(_.isInstanceOf[RangeBucketExec])
      .flatMap(plan => RangeBucketExec.below(plan).map(Stage(stage, plan, _)))

  private def joinOverBuckets(join: Join, stages: Map[Side, Stage]): SparkPlan = {
    val first = stages.values.head
    val lengths = first.bucket.lengths
    val partitioning = lengths.partitioning
    val isSame = stages.forall { case (side, stage) =>
      stage.bucket.lengths.eq(lengths) && stage.bucket.isOwner == partitioning.isOwner(side)
    } && PartitionRangeJoins.rangeOf(join, partitioning.range.owner).contains(partitioning.range)
    if (!isSame) throw otherBuckets(first.physical)
    lengths.check()
    // Counted or not, if that is the owner: no other side would have been shuffled before it.
    if (stages.values.exists(!_.physical.exists(DeferShuffle.running.isDefinedAt))) lengths.end()
    def side(which: Side): SparkPlan = stages.get(which) match {
      case Some(stage) =>
        stage.physical.setLogicalLink(stage.logical)
        stage.physical
      case None => PartitionRangeJoins.bucketed(PlanLater(which.of(join)), which, lengths)
    }
    PartitionRangeJoins.plan(join, partitioning, side(LeftSide), side(RightSide))
  }

  private def otherBuckets(plan: SparkPlan) =
    InvalidAQEPlanException("Range buckets were made for another join", plan)
}

/**
 * Where adaptive execution finds a side small enough to broadcast once the other one is shuffled, that
 * one is read where it was written. Spark's rule for it knows its own join only: it is shown one.
 */
object ReadShufflesLocally extends AQEShuffleReadRule {

  override protected def supportedShuffleOrigins: Seq[ShuffleOrigin] = Nil

  override def apply(plan: SparkPlan): SparkPlan =
    if (!plan.exists(_.isInstanceOf[BroadcastRangeJoinExec])) plan
    else {
      def isKeyed(join: BroadcastRangeJoinExec) = join.leftKeys.nonEmpty
      val stock =
        plan.transformUp { case join: BroadcastRangeJoinExec if isKeyed(join) => join.asStock }
      // Spark's rule puts reads between the nodes, and leaves their order.
      val ours =
        plan.collect { case join: BroadcastRangeJoinExec if isKeyed(join) => join }.iterator
      OptimizeShuffleWithLocalRead(stock).transformDown {
        case join: BroadcastHashJoinExec
            if join.children.exists(PlanBegunStages.indexOf(_).isDefined) =>
          ours.next().withNewChildren(join.children)
      }
    }
}
