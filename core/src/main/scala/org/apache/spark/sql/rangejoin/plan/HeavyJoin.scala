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

import org.apache.spark.internal.Logging
import org.apache.spark.rdd.DeterministicLevel
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  Expression,
  PlanExpression
}
import org.apache.spark.sql.catalyst.plans.FullOuter
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeExtractor, RightSide, Side}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.spread._
import org.apache.spark.sql.rangejoin.{JobCancelled, JobDescription}

/** A join with heavy partitions. */
private[plan] class HeavyJoin(join: SortMergeRangeJoinExec, val shuffle: HeavyShuffle)
    extends Logging {

  def keys(side: Side): Seq[Expression] = HeavyJoin.keys(join, side)

  /** How its rows can be spread, or why they cannot be. */
  def range: Either[String, SpreadRange] =
    HeavyJoin.range(join, side => shuffle.sides(side).output, shuffle.larger)

  /**
   * How they are spread, or why they are not.
   *
   * @param forced the number of buckets for each key, whatever it is worth; 0: where that is worth it
   */
  def choose(range: SpreadRange, forced: Int): Either[String, KeyedSpread] = {
    val start = System.nanoTime()
    try {
      val plan = JobDescription.within(
        join.session.sparkContext,
        s"range join: heavy values of ${join.leftKeys.map(_.sql).mkString(", ")}")(
        choosePlan(range, forced))
      chosen(range, plan, forced, NANOSECONDS.toMillis(System.nanoTime() - start))
    } catch {
      case e @ JobCancelled() => throw e
      // The query does not depend on it, and has the same error again if it is one of its own.
      case NonFatal(e) =>
        logWarning("Heavy keys are not cut: looking for them has failed", e)
        Left(s"looking for them has failed: ${e.getMessage}")
    }
  }

  private def chosen(
      range: SpreadRange,
      plan: KeyedPlan,
      forced: Int,
      millis: Long): Either[String, KeyedSpread] = {
    val partitions = shuffle.heavy.size
    logInfo(s"Range join: $partitions heavy partitions, ${plan.heavyKeys} heavy keys in " +
      s"${plan.buckets} buckets, chosen in $millis ms")
    Either.cond(
      forced > 0 || plan.largest < worthIt(plan),
      KeyedSpread(range, plan, millis, partitions),
      "there are no ranges to cut by: rows of a key are all alike, or match almost all others"
    )
  }

  /** The layout, for which the heavy partitions are read. */
  private def choosePlan(range: SpreadRange, forced: Int): KeyedPlan = {
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

  /**
   * Whether rows of a side that are lost, and computed again, are the same, as far as Spark knows. If one comes out
   * longer in spite of that, its task fails.
   */
  private def isRepeatable(side: Side): Boolean =
    shuffle.sides(side).exchange.shuffleDependency.rdd.outputDeterministicLevel !=
      DeterministicLevel.INDETERMINATE

  /** The largest task is to have less than so many rows. */
  private def worthIt(plan: KeyedPlan): Double =
    HeavyJoin.WorthIt * plan.rows * shuffle.largest / shuffle.heavyBytes
}

private[plan] object HeavyJoin {

  /** A task that is not smaller than this part of what it was is not worth another shuffle. */
  private val WorthIt = 0.7

  def keys(join: SortMergeRangeJoinExec, side: Side): Seq[Expression] =
    if (side == LeftSide) join.leftKeys else join.rightKeys

  /**
   * How rows of a join can be spread, or why they cannot be.
   *
   * @param shuffled the columns of a side that are shuffled
   * @param larger the side that has more rows, which may be cut where either can be
   */
  def range(
      join: SortMergeRangeJoinExec,
      shuffled: Side => Seq[Attribute],
      larger: Side): Either[String, SpreadRange] =
    if (join.joinType == FullOuter) Left("a FULL OUTER join keeps the rows of both sides")
    else {
      for {
        range <- RangeExtractor
          .extract(join.joinType, join.condition, join.left.outputSet, join.right.outputSet)
          .toOption
          .flatMap(SpreadRange.of(_, join.joinType, larger))
          .filter(range => isOfShuffles(needed(join, range), shuffled))
          .toRight("there is no range over columns of the shuffle")
        // It has no result before the stage runs.
        _ <- Either.cond(
          !needed(join, range).exists { case (_, es) =>
            es.exists(_.exists(_.isInstanceOf[PlanExpression[_]]))
          },
          (),
          "a key or a bound has a subquery")
      } yield range
    }

  /** Keys and bounds of both sides. */
  private def needed(join: SortMergeRangeJoinExec, range: SpreadRange): Map[Side, Seq[Expression]] =
    Seq[Side](LeftSide, RightSide).map { side =>
      side -> (keys(join, side) ++ range.bounds(side == range.owner).columns)
    }.toMap

  /** Whether keys and bounds are of columns that are shuffled. */
  private def isOfShuffles(needed: Map[Side, Seq[Expression]], shuffled: Side => Seq[Attribute]) =
    needed.forall { case (side, of) =>
      AttributeSet.fromAttributeSets(of.map(_.references))
        .subsetOf(AttributeSet(shuffled(side))) && of.forall(_.deterministic)
    }
}
