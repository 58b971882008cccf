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

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.adaptive.{AQEShuffleReadExec, QueryStageExec}
import org.apache.spark.sql.execution.exchange.{Exchange, ValidateRequirements}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.RangeJoinConf
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RightSide, Side}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.spread.{
  CutHeavyKeysExec,
  CutShuffle,
  CutShuffles,
  HeavyKeysSearch,
  KeyedSpread,
  ShuffledBytes
}

/**
 * Cuts heavy keys of sort-merge range joins in plans that are not adaptive, as [[SpreadHeavyKeys]] does in
 * those that are, and under the same conditions. Here a node below the join decides when it is executed.
 * As that makes the join wait for both shuffles it is not done for tables that Spark knows to be small.
 */
object CutHeavyKeys extends Rule[SparkPlan] {

  private def forced: Int = conf.getConf(RangeJoinConf.SpreadKeysBuckets)

  override def apply(plan: SparkPlan): SparkPlan =
    if (!conf.getConf(RangeJoinConf.SpreadKeys)) plan
    else if (forced == 0 && !conf.getConf(SQLConf.SKEW_JOIN_ENABLED)) plan
    else {
      val found = joins(plan).zipWithIndex.collect {
        case ((join, end), index) if isCandidate(join, end, plan) => index
      }
      prepareJoins(plan, found)
    }

  /** The joins of a plan from below, each with the operator that its stage ends in. */
  private def joins(plan: SparkPlan): Seq[(SortMergeRangeJoinExec, SparkPlan)] = {
    def below(node: SparkPlan, end: SparkPlan): Seq[(SortMergeRangeJoinExec, SparkPlan)] =
      node match {
        case exchange: Exchange           => exchange.children.flatMap(child => below(child, child))
        case join: SortMergeRangeJoinExec => join.children.flatMap(below(_, end)) :+ ((join, end))
        case other                        => other.children.flatMap(below(_, end))
      }
    below(plan, plan)
  }

  /** Whether it may be worth it to cut a join, as far as the join itself tells. */
  private def isCandidate(
      join: SortMergeRangeJoinExec,
      end: SparkPlan,
      plan: SparkPlan): Boolean = {
    val candidate = for {
      left <- exchangeOf(join.left)
      right <- exchangeOf(join.right)
      if forced > 0 || !StageLimits.isLimited(end) && mayBeLarge(Seq(left, right))
      shuffled = Map[Side, SparkPlan](LeftSide -> left, RightSide -> right)
      _ <- HeavyJoin.range(join, shuffled(_).output, LeftSide).toOption
      if !Repartitioned.isByJoin(join, plan)
    } yield join
    candidate.isDefined
  }

  /**
   * The plan with some of its joins ready to be cut, but for those whose rows have to stay together. All are
   * tried at once, as to check a plan takes as long as the plan is, and there may be many joins.
   */
  private def prepareJoins(plan: SparkPlan, indices: Seq[Int]): SparkPlan =
    if (indices.isEmpty) plan
    else {
      val result = prepared(plan, indices.toSet)
      if (ValidateRequirements.validate(result)) result
      else if (indices.size == 1) plan
      else {
        val (lower, upper) = indices.splitAt(indices.size / 2)
        Seq(upper, lower).foldLeft(plan)(prepareJoins)
      }
    }

  private def prepared(plan: SparkPlan, indices: Set[Int]): SparkPlan = {
    var index = -1
    plan.transformUp { case join: SortMergeRangeJoinExec =>
      index += 1
      val result = for {
        left <- exchangeOf(join.left)
        right <- exchangeOf(join.right)
        if indices(index)
      } yield readInTwo(join, left, right)
      result.getOrElse(join)
    }
  }

  private def exchangeOf(child: SparkPlan): Option[SparkPlan] =
    ShuffledSide.readerOf(child).filter {
      case _: QueryStageExec | _: AQEShuffleReadExec => false
      case _                                         => true
    }

  private def mayBeLarge(exchanges: Seq[SparkPlan]): Boolean = {
    // None: Spark does not know.
    val sizes = exchanges.map { exchange =>
      exchange.collectFirst {
        case node if node.logicalLink.isDefined => node.logicalLink.get.stats.sizeInBytes
      }
    }
    sizes.exists(_.isEmpty) ||
    sizes.flatten.sum > conf.getConf(RangeJoinConf.SpreadKeysThreshold)
  }

  private def readInTwo(
      join: SortMergeRangeJoinExec,
      left: SparkPlan,
      right: SparkPlan): SortMergeRangeJoinExec = {
    val search = new ShuffleSearch(join, conf.getConf(RangeJoinConf.SpreadKeysThreshold), forced)
    def side(child: SparkPlan, exchange: SparkPlan, of: Side) = child.transformUp {
      case node if node.eq(exchange) =>
        CutHeavyKeysExec(HeavyJoin.keys(join, of), search, exchange)
    }
    val result = join.copy(
      left = side(join.left, left, LeftSide),
      right = side(join.right, right, RightSide),
      isSkewJoin = true)
    result.copyTagsFrom(join)
    result
  }
}

/**
 * Looks for heavy keys when both sides of a join are about to be read.
 *
 * @param join as it was planned
 * @param threshold where no partition has more bytes, none is heavy
 * @param forced the number of buckets for each key, whatever it is worth; 0: where that is worth it
 */
private class ShuffleSearch(join: SortMergeRangeJoinExec, threshold: Long, forced: Int)
    extends HeavyKeysSearch with Logging {

  override def between(left: SparkPlan, right: SparkPlan): CutShuffles = new CutShuffles {

    // EXPLAIN does not wait while the shuffles run.
    @volatile private var decided: Option[Either[String, (HeavyJoin, KeyedSpread)]] = None

    override def decision: Option[Either[String, KeyedSpread]] =
      decided.map(_.map { case (_, spread) => spread })

    override def of(side: Side): Option[CutShuffle] = synchronized {
      if (decided.isEmpty) {
        // The other side reads its shuffle as it is, too, if this fails.
        decided = Some(Left("the shuffles have failed"))
        decided = Some(decide(left, right))
      }
      decided.flatMap(_.toOption).map { case (heavy, spread) =>
        CutShuffle(
          spread,
          heavy.shuffle.sides(side).exchange,
          heavy.shuffle.restSpecs(side),
          heavy.shuffle.heavySpecs(side))
      }
    }
  }

  private def decide(
      left: SparkPlan,
      right: SparkPlan): Either[String, (HeavyJoin, KeyedSpread)] = {
    val decided = for {
      shuffle <- heavyShuffle(left, right).toRight("no partition is far too large")
      heavy = new HeavyJoin(join, shuffle)
      range <- heavy.range
      spread <- heavy.choose(range, forced)
    } yield (heavy, spread)
    decided.left.foreach(why =>
      logInfo(s"Heavy keys are not cut: $why\n${join.simpleString(100)}"))
    decided
  }

  private def heavyShuffle(left: SparkPlan, right: SparkPlan): Option[HeavyShuffle] = {
    val shuffled = for {
      reader <- Seq(left, right)
      exchange <- ShuffledSide.exchangeOf(reader)
    } yield (reader, exchange)
    val bytes = ShuffledBytes.await(
      join.session.sparkContext,
      shuffled.map { case (_, exchange) => exchange.shuffleDependency })
    val sides = shuffled.zip(bytes).collect { case ((reader, exchange), Some(of)) =>
      ShuffledSide.ofExchange(reader, exchange, of)
    }
    sides match {
      case Seq(ofLeft, ofRight) => HeavyShuffle.of(ofLeft, ofRight, threshold, forced > 0)
      case _                    => None
    }
  }
}
