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

import java.util.concurrent.TimeUnit.NANOSECONDS

import scala.util.control.NonFatal

import org.apache.spark.SparkException
import org.apache.spark.rdd.DeterministicLevel
import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression, PlanExpression}
import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.execution.adaptive.AQEShuffleReadRule
import org.apache.spark.sql.execution.exchange.{ShuffleOrigin, ValidateRequirements}
import org.apache.spark.sql.execution.{
  CollectLimitExec,
  CollectTailExec,
  LimitExec,
  OrderPreservingUnaryExecNode,
  SparkPlan,
  UnionExec
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeExtractor, RightSide, Side}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.spread._
import org.apache.spark.sql.rangejoin.{JobDescription, RangeJoinConf}

/**
 * Cuts heavy keys of sort-merge range joins by the range, under adaptive execution. When the stage of a
 * join is about to run, both of its sides have been shuffled, and the sizes of their partitions are known:
 * where one is far above what a task ought to have, its rows are sampled and shuffled again, to several
 * tasks (see [[BucketShuffleExec]]). Other partitions are read as they would have been.
 *
 * So a join whose keys are many and even pays nothing, and one of few keys a second shuffle. Not done
 * where something above the join in the same stage relies on rows being together by key, where the
 * user has asked for the shuffle or does not want skewed joins to be handled, or where only the first rows
 * of the join are asked for, which may be had without most of its tasks.
 */
object SpreadHeavyKeys extends AQEShuffleReadRule {

  override protected def supportedShuffleOrigins: Seq[ShuffleOrigin] = Nil

  private def forced: Int = conf.getConf(RangeJoinConf.SpreadKeysBuckets)

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.SpreadKeys)) plan
    else if (forced == 0 && (!conf.getConf(SQLConf.SKEW_JOIN_ENABLED) || isLimited(plan))) plan
    else joins(plan).indices.reverse.foldLeft(plan)(spreadJoin)

  /** Whether a stage ends in a limit that reads no more rows than it needs. */
  private def isLimited(plan: SparkPlan): Boolean = plan match {
    case _: CollectLimitExec | _: CollectTailExec | _: LimitExec => true
    case node: OrderPreservingUnaryExecNode                      => isLimited(node.child)
    case union: UnionExec                                        => union.children.exists(isLimited)
    case _                                                       => false
  }

  private def joins(plan: SparkPlan): Seq[SortMergeRangeJoinExec] =
    plan.collect { case join: SortMergeRangeJoinExec => join }

  /** The plan with one of its joins spread, where that is worth it. */
  private def spreadJoin(plan: SparkPlan, index: Int): SparkPlan = {
    val join = joins(plan)(index)
    HeavyShuffle
      .of(join, conf.getConf(RangeJoinConf.SpreadKeysThreshold), forced > 0)
      .map(new HeavyJoin(join, _))
      .fold(plan) { heavy =>
        def planWith(range: SpreadRange, spread: Option[KeyedSpread]) = plan.transformUp {
          case j: SortMergeRangeJoinExec if j.eq(join) => heavy.over(range, spread)
        }
        val spread = for {
          range <- heavy.range
          _ <- Either.cond(
            ValidateRequirements.validate(planWith(range, None)),
            (),
            "an operator above the join needs the rows of a key in one task")
          spread <- choose(heavy, range)
        } yield planWith(range, Some(spread))
        spread.left.foreach { why =>
          logInfo(s"Heavy keys are not cut: $why\n${join.simpleString(100)}")
          join.setTagValue(SortMergeRangeJoinExec.NotCut, why)
        }
        spread.getOrElse(plan)
      }
  }

  private def choose(heavy: HeavyJoin, range: SpreadRange): Either[String, KeyedSpread] = {
    val start = System.nanoTime()
    try {
      val plan = JobDescription.within(
        heavy.join.session.sparkContext,
        s"range join: heavy values of ${heavy.join.leftKeys.map(_.sql).mkString(", ")}")(
        heavy.choosePlan(range, forced))
      chosen(heavy, range, plan, start)
    } catch {
      // It is the query that is cancelled.
      case e: SparkException if String.valueOf(e.getMessage).contains("SPARK_JOB_CANCELLED") =>
        throw e
      // The query does not depend on it, and has the same error again if it is one of its own.
      case NonFatal(e) =>
        logWarning("Heavy keys are not cut: looking for them has failed", e)
        Left(s"looking for them has failed: ${e.getMessage}")
    }
  }

  private def chosen(
      heavy: HeavyJoin,
      range: SpreadRange,
      plan: KeyedPlan,
      start: Long): Either[String, KeyedSpread] = {
    val millis = NANOSECONDS.toMillis(System.nanoTime() - start)
    val partitions = heavy.shuffle.heavy.size
    logInfo(s"Range join: $partitions heavy partitions, ${plan.heavyKeys} heavy keys in " +
      s"${plan.buckets} buckets, chosen in $millis ms")
    Either.cond(
      forced > 0 || plan.largest < heavy.worthIt(plan),
      KeyedSpread(range, plan, millis, partitions),
      "there are no ranges to cut by: rows of a key are all alike, or match almost all others"
    )
  }
}

/** A join with heavy partitions. */
private class HeavyJoin(val join: SortMergeRangeJoinExec, val shuffle: HeavyShuffle) {
  import HeavyJoin._

  private def child(side: Side): SparkPlan = if (side == LeftSide) join.left else join.right

  private def keys(side: Side): Seq[Expression] =
    if (side == LeftSide) join.leftKeys else join.rightKeys

  /** How its rows can be spread, or why they cannot be. */
  def range: Either[String, SpreadRange] =
    if (join.joinType == FullOuter) Left("a FULL OUTER join keeps the rows of both sides")
    else {
      for {
        range <- RangeExtractor
          .extract(join.joinType, join.condition, join.left.outputSet, join.right.outputSet)
          .toOption
          .flatMap(SpreadRange.of(_, join.joinType, shuffle.larger))
          .filter(isOfShuffles)
          .toRight("there is no range over columns of the shuffle")
        // It has no result before the stage runs.
        _ <- Either.cond(
          !needed(range).exists { case (_, es) =>
            es.exists(_.exists(_.isInstanceOf[PlanExpression[_]]))
          },
          (),
          "a key or a bound has a subquery")
      } yield range
    }

  /** Keys and bounds of both sides. */
  private def needed(range: SpreadRange): Map[Side, Seq[Expression]] =
    Seq[Side](LeftSide, RightSide).map { side =>
      side -> (keys(side) ++ range.bounds(side == range.owner).columns)
    }.toMap

  /** Whether keys and bounds are of columns that have been shuffled. */
  private def isOfShuffles(range: SpreadRange): Boolean =
    needed(range).forall { case (side, of) =>
      AttributeSet.fromAttributeSets(of.map(_.references))
        .subsetOf(AttributeSet(shuffle.sides(side).output)) && of.forall(_.deterministic)
    }

  /** The join over divided partitions; its children do not have all rows of a key in one place. */
  def over(range: SpreadRange, spread: Option[KeyedSpread]): SortMergeRangeJoinExec = {
    def divided(side: Side) = {
      val isOwner = side == range.owner
      val shuffled = BucketShuffleExec(
        isOwner,
        keys(side),
        range.bounds(isOwner).columns,
        spread,
        shuffle.inputs(side))
      val reader = shuffle.sides(side).reader
      child(side).transformUp { case node if node.eq(reader) => shuffled }
    }
    val result =
      join.copy(left = divided(LeftSide), right = divided(RightSide), isSkewJoin = true)
    result.copyTagsFrom(join)
    result
  }

  /** The layout, for which the heavy partitions are read. */
  def choosePlan(range: SpreadRange, forced: Int): KeyedPlan = {
    def rowsOf(side: Side) = KeyedSampling.Rows(
      shuffle.heavyRows(side),
      new KeyedColumns(
        keys(side),
        range.bounds(side == range.owner),
        shuffle.sides(side).output))
    val ownerRows = rowsOf(range.owner)
    val places = shuffle.heavyBytes / shuffle.target + 1
    val (owner, copied) = KeyedSampling
      .sample(ownerRows, rowsOf(range.owner.other), BoundSampling.sizeFor(places))
    val rows = owner.total + copied.total
    val target = math.max(1.0, rows * shuffle.target / math.max(1L, shuffle.heavyBytes))
    val planner = new KeyedLayoutPlanner(range, owner, copied, target, forced)
    planner.plan(
      if (range.isPoint || planner.hashes.isEmpty) planner.hashes.toSeq.map(_ => Lengths.Zero)
      else if (!isRepeatable(range.owner)) planner.hashes.toSeq.map(_ => Lengths.Any)
      else KeyedSampling.lengths(ownerRows, planner.hashes, planner.cells))
  }

  /** Whether rows of a side that are lost, and computed again, are the same. */
  private def isRepeatable(side: Side): Boolean = {
    val of = shuffle.sides(side)
    of.exchange.shuffleDependency.rdd.outputDeterministicLevel != DeterministicLevel.INDETERMINATE &&
    of.exchange.child.collectFirst {
      case node if node.logicalLink.isDefined => node.logicalLink.get
    }
      .exists(RepeatablePlan(_))
  }

  /** The largest task is to have less than so many rows. */
  def worthIt(plan: KeyedPlan): Double = WorthIt * plan.rows * shuffle.largest / shuffle.heavyBytes
}

private object HeavyJoin {

  /** A task that is not smaller than this part of what it was is not worth another shuffle. */
  private val WorthIt = 0.7
}
