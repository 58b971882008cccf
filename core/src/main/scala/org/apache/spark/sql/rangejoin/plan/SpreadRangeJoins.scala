/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{BROADCAST, Generate, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.{InvalidAQEPlanException, LogicalQueryStage}
import org.apache.spark.sql.execution.joins.{
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  SortMergeJoinExec
}
import org.apache.spark.sql.execution.{PlanLater, ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeExtractor, RightSide, Side}
import org.apache.spark.sql.rangejoin.hint.RangeJoinHint
import org.apache.spark.sql.rangejoin.line.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.spread.{
  AwaitSizesExec,
  OwnerLengths,
  RangeBucketExec,
  RangeSpread,
  SpreadRange
}

/**
 * Plans a join with a range and without keys, neither side of which is small or to be broadcast, as a
 * sort-merge join by the buckets of a [[RangeSpread]]: Spark's own node with the mark of a range join, so
 * that shuffles, skew handling and all that follows are those of any other join. The bucket has to be a
 * join key: rows of several buckets may come to lie in one task.
 */
object SpreadRangeJoins extends JoinSelectionHelper {

  /** Whether Spark has planned a nested loop over two sides that are large, as far as it knows. */
  def isQuadratic(planned: Seq[SparkPlan], join: Join): Boolean = planned match {
    case Seq(_: CartesianProductExec)           => !hintToShuffleReplicateNL(join.hint)
    case Seq(loop: BroadcastNestedLoopJoinExec) => isLastResort(loop, join)
    case _                                      => false
  }

  /** The join by buckets; None where its rows cannot be spread, or may not be copied. */
  def of(join: Join, session: SparkSession): Option[SparkPlan] =
    rangeOf(join, larger(join)).filterNot(_ => hintToNotBroadcastAndReplicate(join.hint)).map {
      range =>
        val conf = session.sessionState.conf
        val most = conf.getConf(RangeJoinConf.SpreadThreshold)
        // Of what a generator makes Spark has no estimate.
        val isTiny = Seq(join.left, join.right)
          .forall(side => side.stats.sizeInBytes <= most && !side.exists(_.isInstanceOf[Generate]))
        val spread = ofQuery(join)
          .getOrElse(new RangeSpread(session, range, join.left, join.right, isTiny))
        join.setTagValue(Spread, spread)
        val sides: Map[Side, SparkPlan] =
          if (spread.isSingle || RangeSpread.isPlanningSample)
            Map(LeftSide -> PlanLater(join.left), RightSide -> PlanLater(join.right))
          else AwaitSizes.of(join, conf)
        val lengths = new OwnerLengths(spread)
        val isAdaptive = conf.adaptiveExecutionEnabled && !RangeSpread.isPlanningSample
        def side(of: Side) = {
          val child = sides(of)
          val buckets =
            bucketed(if (isAdaptive) awaiting(child, of, lengths) else child, of, lengths)
          WriteCostlySides.mayBeWritten(buckets, join, of)
          buckets
        }
        plan(join, side(LeftSide), side(RightSide))
    }

  /** A side under adaptive execution; copies wait for the owner. */
  def awaiting(child: SparkPlan, side: Side, lengths: OwnerLengths): SparkPlan =
    if (lengths.spread.isOwner(side)) child else AwaitSizesExec.ofLengths(child, lengths)

  /** On a join: how its rows are spread. Rules may copy it to another join. */
  private val Spread = TreeNodeTag[RangeSpread]("rangejoin.spread")

  /**
   * In the plan of a sample, the buckets that the same join has in the query. Had it some of its own, it would
   * be sampled for each join above it, and what is below it twice as often.
   */
  private def ofQuery(join: Join): Option[RangeSpread] =
    if (!RangeSpread.isPlanningSample) None
    else {
      join.getTagValue(Spread)
        .filter(spread => rangeOf(join, spread.range.owner).contains(spread.range))
    }

  def isWithoutKeys(plan: LogicalPlan): Boolean = plan match {
    case join: Join => ExtractEquiJoinKeys.unapply(join).isEmpty
    case _          => false
  }

  /** A broadcast of a side that is neither known to be small nor asked for by a hint. */
  private def isLastResort(loop: BroadcastNestedLoopJoinExec, join: Join): Boolean = {
    val (side, hint) =
      if (loop.buildSide == BuildLeft) (join.left, join.hint.leftHint)
      else (join.right, join.hint.rightHint)
    !hint.exists(_.strategy.contains(BROADCAST)) && !canBroadcastBySize(side, loop.conf)
  }

  private def larger(join: Join): Side =
    if (join.right.stats.sizeInBytes > join.left.stats.sizeInBytes) RightSide else LeftSide

  /** How the rows of a join without keys are spread; None where they cannot be. */
  def rangeOf(join: Join, larger: Side): Option[SpreadRange] =
    if (!isWithoutKeys(join)) None
    else {
      RangeExtractor
        .extract(join.joinType, join.condition, join.left.outputSet, join.right.outputSet)
        .toOption
        .flatMap(SpreadRange.of(_, join.joinType, larger))
    }

  /** A side with its buckets. */
  def bucketed(child: SparkPlan, side: Side, lengths: OwnerLengths): RangeBucketExec = {
    val isOwner = lengths.spread.isOwner(side)
    RangeBucketExec(
      isOwner,
      lengths.spread.range.bounds(isOwner).columns,
      RangeBucketExec.newBucket(),
      lengths,
      child)
  }

  /** The join of two sides whose last columns are their buckets. */
  def plan(join: Join, left: SparkPlan, right: SparkPlan): SparkPlan = {
    def keys(side: SparkPlan): Seq[Expression] = Seq(side.output.last)
    val sorted =
      SortMergeJoinExec(keys(left), keys(right), join.joinType, join.condition, left, right)
    MarkRangeJoins.sortMergeMarks(RangeJoinHint.in(join.hint).isDefined, sorted.conf)
      .foreach(sorted.setTagValue(_, ()))
    ProjectExec(join.output, sorted)
  }
}

/**
 * Plans a join by buckets again, one side of which is being shuffled by its buckets, or has been: the
 * other side gets buckets of the same [[RangeSpread]], whatever the settings or sizes are by now. Where it
 * is not the join that the buckets were made for, the present plan is kept.
 */
object PlanBucketedStages extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ Join(left, right, _, _, _) =>
      val sides = Seq[(Side, LogicalPlan)](LeftSide -> left, RightSide -> right)
      val stages = sides.flatMap { case (side, of) => stageOf(of).map(side -> _) }
      if (stages.isEmpty) Nil else Seq(joinOver(join, stages.toMap))
    // A stage below has run. It is open again how the join is done.
    case LogicalQueryStage(_, bucket: RangeBucketExec) =>
      Seq(WriteCostlySides.sideOf(bucket.child))
    // Shuffled by its buckets, but without the join: Spark found that the other side is empty.
    case stage @ LogicalQueryStage(_, physical) if RangeBucketExec.below(physical).isDefined =>
      if (RangeBucketExec.below(physical).exists(_.isOwner))
        Seq(ProjectExec(stage.output, physical))
      else throw invalid(physical)
    case _ => Nil
  }

  /** A stage whose last column is the bucket of its rows. */
  private case class Stage(logical: LogicalPlan, physical: SparkPlan, bucket: RangeBucketExec)

  private def stageOf(plan: LogicalPlan): Option[Stage] = plan match {
    case LogicalQueryStage(_, _: RangeBucketExec) => None
    case stage @ LogicalQueryStage(_, physical)   =>
      RangeBucketExec.below(physical).map(Stage(stage, physical, _))
    case _ => None
  }

  private def joinOver(join: Join, stages: Map[Side, Stage]): SparkPlan = {
    val first = stages.values.head
    val lengths = first.bucket.lengths
    val spread = lengths.spread
    val isSame = stages.forall { case (side, stage) =>
      stage.bucket.lengths.eq(lengths) && stage.bucket.isOwner == spread.isOwner(side)
    } && SpreadRangeJoins.rangeOf(join, spread.range.owner).contains(spread.range)
    if (!isSame) throw invalid(first.physical)
    lengths.check()
    def side(of: Side, logical: LogicalPlan): SparkPlan = stages.get(of) match {
      case Some(stage) =>
        stage.physical.setLogicalLink(stage.logical)
        stage.physical
      case None =>
        val child = PlanLater(logical)
        val hasRun = stages.values.exists(!_.physical.exists(AwaitSizes.running.isDefinedAt))
        SpreadRangeJoins.bucketed(
          if (hasRun) child else SpreadRangeJoins.awaiting(child, of, lengths),
          of,
          lengths)
    }
    SpreadRangeJoins.plan(join, side(LeftSide, join.left), side(RightSide, join.right))
  }

  private def invalid(plan: SparkPlan) =
    InvalidAQEPlanException("Range buckets were made for another join", plan)
}
