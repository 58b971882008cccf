// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, JoinSelectionHelper}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{BROADCAST, Generate, Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.joins.{
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  SortMergeJoinExec
}
import org.apache.spark.sql.execution.{PlanLater, ProjectExec, SparkPlan}
import org.apache.spark.sql.rangejoin.condition.{
  DrivenBy,
  JoinCondition,
  LeftSide,
  RangeCondition,
  RangeExtractor,
  RightSide,
  Side
}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.hint.RangeJoinHint
import org.apache.spark.sql.rangejoin.partitioning.{
  JoinPartitioning,
  OwnerLengths,
  PartitionedRange,
  RangeBucketExec,
  SamplePlan
}
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession

/**
 * Plans a join with a range and without keys, neither side of which is small or to be broadcast, as a
 * sort-merge join by the buckets of a [[JoinPartitioning]]: Spark's own node with the mark of a range join, so
 * that shuffles, skew handling and all that follows are those of any other join. The bucket has to be a
 * join key: rows of several buckets may come to lie in one task.
 */
object PartitionRangeJoins extends JoinSelectionHelper {

  /** Whether Spark has planned a nested loop over two sides that are large, as far as it knows. */
  def isQuadratic(planned: Seq[SparkPlan], join: Join): Boolean = cond(planned) {
    case Seq(_: CartesianProductExec)           => !hintToShuffleReplicateNL(join.hint)
    case Seq(loop: BroadcastNestedLoopJoinExec) => isLastResort(loop, join)
  }

  /** The join by buckets; None where its rows cannot be partitioned, or may not be copied. */
  def of(join: Join, session: SparkSession): Option[SparkPlan] = {
    val likely = ServeDemand.rankedSide(join).getOrElse(larger(join))
    rangeOf(join, likely).filterNot(_ => hintToNotBroadcastAndReplicate(join.hint)).map {
      range =>
        val conf = session.sessionState.conf
        val most = conf.getConf(InternalConf.RangePartitioningThreshold)
        // Spark has no estimate of how many rows a generator makes.
        val isTiny = Seq(join.left, join.right)
          .forall(side => side.stats.sizeInBytes <= most && !side.exists(makesRows))
        val isAdaptive = conf.adaptiveExecutionEnabled && !SamplePlan.isPlanningSample
        // A plan that is not adaptive is made before anything is known of rows.
        val others = if (isAdaptive) otherRanges(join) else Nil
        val partitioning = ofQuery(join).getOrElse(
          new JoinPartitioning(
            session,
            range,
            others,
            join.left,
            join.right,
            isTiny,
            if (SamplePlan.isPlanningSample) Map.empty else DeferShuffle.measures(join, conf)))
        join.setTagValue(Partitioning, partitioning)
        val lengths = new OwnerLengths(partitioning)
        // Adaptive execution coalesces partitions without rows. Without, each of them is a task.
        val inOnePartition = partitioning.isSingle && !conf.adaptiveExecutionEnabled
        def side(which: Side) = {
          val buckets = bucketed(PlanLater(which.of(join)), which, lengths)
          if (inOnePartition) inPartition(buckets, which.of(join)) else buckets
        }
        plan(join, partitioning, side(LeftSide), side(RightSide))
    }
  }

  private def makesRows(plan: LogicalPlan): Boolean = cond(plan) { case generate: Generate =>
    !generate.generator.isInstanceOf[NumberOfRow]
  }

  /** A side in one partition. Spark looks at the size of the logical plan before it keeps one. */
  private def inPartition(buckets: RangeBucketExec, side: LogicalPlan): SparkPlan = {
    val exchange = ShuffleExchangeExec(SinglePartition, buckets)
    exchange.setLogicalLink(side)
    exchange
  }

  /** On a join: how its rows are partitioned. Rules may copy it to another join. */
  private val Partitioning = TreeNodeTag[JoinPartitioning]("rangejoin.partitioning")

  /**
   * While a sample is planned: the partitioning that this join already has in the query. With one
   * of its own it would be sampled again in the sample of each join above it, so that the number
   * of samples would double at each level.
   */
  private def ofQuery(join: Join): Option[JoinPartitioning] =
    if (!SamplePlan.isPlanningSample) None
    else {
      join.getTagValue(Partitioning)
        .filter(partitioning =>
          rangeOf(join, partitioning.range.owner).contains(partitioning.range))
    }

  def isWithoutKeys(plan: LogicalPlan): Boolean =
    cond(plan) { case join: Join => ExtractEquiJoinKeys.unapply(join).isEmpty }

  /** A broadcast of a side that is neither known to be small nor asked for by a hint. */
  private def isLastResort(loop: BroadcastNestedLoopJoinExec, join: Join): Boolean = {
    val (side, hint) =
      if (loop.buildSide == BuildLeft) (join.left, join.hint.leftHint)
      else (join.right, join.hint.rightHint)
    !hint.exists(_.strategy.contains(BROADCAST)) && !canBroadcastBySize(side, loop.conf)
  }

  private def larger(join: Join): Side =
    if (join.right.stats.sizeInBytes > join.left.stats.sizeInBytes) RightSide else LeftSide

  /**
   * How the rows of a join without keys are partitioned; None where they cannot be.
   *
   * @param likely the owner where nothing else speaks for either side
   */
  def rangeOf(join: Join, likely: Side): Option[PartitionedRange] =
    if (!isWithoutKeys(join)) None
    else {
      ranges(join).headOption.flatMap(PartitionedRange.of(_, join.joinType, likely))
    }

  /** More ranges of a condition than this are not looked at. */
  private[rangejoin] val MostRanges = 4

  private def ranges(join: Join): Seq[RangeCondition] =
    RangeExtractor.ranges(JoinCondition.of(join, streamed = None)).fold(
      _ => Nil,
      _.take(MostRanges))

  /** Ranges beside the first that may drive the join, and whose bounds are worth evaluating for a sample. */
  private def otherRanges(join: Join): Seq[RangeCondition] = {
    def isCostly(range: RangeCondition) =
      range.predicates.exists(CostlySide.isCostly(_: Expression))
    ranges(join).drop(1).filterNot(range => isCostly(range) || isMadeCostly(range, join))
  }

  /** Whether a side computes a column of a range, which a sample would then compute once more. */
  private def isMadeCostly(range: RangeCondition, join: Join): Boolean = {
    val read = AttributeSet.fromAttributeSets(range.predicates.map(_.references))
    join.children.exists(_.exists {
      case Project(columns, _) =>
        columns.exists(column =>
          read.contains(column.toAttribute) && CostlySide.isCostly(column: Expression))
      case _ => false
    })
  }

  /** A side with its buckets. */
  def bucketed(child: SparkPlan, side: Side, lengths: OwnerLengths): RangeBucketExec = {
    val isOwner = lengths.partitioning.isOwner(side)
    RangeBucketExec(
      isOwner,
      lengths.partitioning.range.bounds(isOwner).columns,
      RangeBucketExec.newBucket(),
      lengths,
      child)
  }

  /**
   * The join of two sides whose last columns are their buckets. Within the buckets it is driven by the range that the
   * sample says, once there is one.
   */
  def plan(
      join: Join,
      partitioning: JoinPartitioning,
      left: SparkPlan,
      right: SparkPlan): SparkPlan = {
    def keys(side: SparkPlan): Seq[Expression] = Seq(side.output.last)
    val condition = join.condition.map { condition =>
      partitioning.driving.fold(condition)(DrivenBy(_, condition))
    }
    val sorted = SortMergeJoinExec(keys(left), keys(right), join.joinType, condition, left, right)
    sorted.setTagValue(
      MarkRangeJoins.Mark,
      MarkRangeJoins.Marked(RangeJoinHint.in(join.hint).isDefined))
    ProjectExec(join.output, sorted)
  }
}
