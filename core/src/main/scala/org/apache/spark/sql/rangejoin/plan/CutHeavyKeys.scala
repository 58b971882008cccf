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
    else joins(plan).indices.reverse.foldLeft(plan)(prepareJoin)

  /** The joins of a plan, each with the operator that its stage ends in. */
  private def joins(plan: SparkPlan): Seq[(SortMergeRangeJoinExec, SparkPlan)] = {
    def below(node: SparkPlan, end: SparkPlan): Seq[(SortMergeRangeJoinExec, SparkPlan)] =
      node match {
        case exchange: Exchange           => exchange.children.flatMap(child => below(child, child))
        case join: SortMergeRangeJoinExec => (join, end) +: join.children.flatMap(below(_, end))
        case other                        => other.children.flatMap(below(_, end))
      }
    below(plan, plan)
  }

  /** The plan with one of its joins ready to be cut, where that may be worth it. */
  private def prepareJoin(plan: SparkPlan, index: Int): SparkPlan = {
    val (join, end) = joins(plan)(index)
    val prepared = for {
      left <- exchangeOf(join.left)
      right <- exchangeOf(join.right)
      if forced > 0 || !StageLimits.isLimited(end) && mayBeLarge(Seq(left, right))
      shuffled = Map[Side, SparkPlan](LeftSide -> left, RightSide -> right)
      _ <- HeavyJoin.range(join, shuffled(_).output, LeftSide).toOption
      result = plan.transformUp {
        case node: SortMergeRangeJoinExec if node.eq(join) => readInTwo(join, left, right)
      }
      if ValidateRequirements.validate(result)
    } yield result
    prepared.getOrElse(plan)
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

    private var decided: Option[Either[String, (HeavyJoin, KeyedSpread)]] = None

    override def decision: Option[Either[String, KeyedSpread]] =
      synchronized(decided).map(_.map { case (_, spread) => spread })

    override def of(side: Side): Option[CutShuffle] = synchronized {
      if (decided.isEmpty) decided = Some(decide(left, right))
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
