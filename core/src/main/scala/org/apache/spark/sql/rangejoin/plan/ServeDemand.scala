// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.JOIN
import org.apache.spark.sql.rangejoin.best.{BestMatches, BestOrder}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.kernel.NullBound
import org.apache.spark.sql.rangejoin.partitioning.BestCopies

/**
 * Has joins planned so that they can serve what the operators above want of them ([[Demand]]), which Spark's planner does
 * not know when it comes to the join:
 *
 *   - The nearest matches of each row are wanted, and the join has no range: it gets an [[OpenRange]]. Then it is planned
 *     as a range join, which finds them by a search; stock Spark compares all rows of a key.
 *   - Functions of each row's matches are of windows, and the join has no range: likewise ([[WindowsOfKeys]]).
 *   - Matches are counted, summed or ranked for each row of one of two small sides without a key: the other one is
 *     broadcast, if it costs about as much. Spark broadcasts the smaller side, whose rows cannot be streamed then, and all
 *     pairs are made.
 *   - Of a join without a key by range buckets: the side whose best matches are wanted is to be the owner
 *     ([[BestCopies]]).
 *
 * Runs once, after predicate pushdown (a pre-CBO rule).
 */
object ServeDemand extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (conf.getConf(RangeJoinConf.Enabled)) serve(plan, Demand.AllRows) else plan

  /** @param demand what is wanted of the rows of the plan */
  private def serve(plan: LogicalPlan, demand: Demand): LogicalPlan = plan match {
    case other if !other.containsPattern(JOIN) => other
    case join: Join                            =>
      served(join.mapChildren(serve(_, Demand.AllRows)).asInstanceOf[Join], demand)
    case filter @ Filter(_, window: Window) =>
      val ranked = window.mapChildren(serve(_, Demand.below(filter, window)))
      filter.withNewChildren(Seq(ranked))
    case other => other.mapChildren(serve(_, demand.below(other)))
  }

  private def served(join: Join, demand: Demand): Join = {
    val best = demand.best.flatMap(_.of(join.left.outputSet, join.right.outputSet).toOption)
    val opened = best.filter(_.distance.exists(_.nearest)).flatMap(withOpenRange(join, _))
      .orElse(demand.aggregates.flatMap(WindowsOfKeys.opened(join, _)))
    val result = streaming(opened.getOrElse(join), demand)
    best.flatMap(rankedSide(result, _)).foreach(result.setTagValue(RankedSide, _))
    result
  }

  // ---------------------------------------------------------------- the owner

  /** On a join without keys: the side that is to be the owner. Rules may copy it to another join, as advice. */
  private val RankedSide = TreeNodeTag[Side]("rangejoin.rankedSide")

  private[plan] def rankedSide(join: Join): Option[Side] = join.getTagValue(RankedSide)

  /** The side to be the owner, if only the best rows of the other one have to be copied. */
  private def rankedSide(join: Join, best: BestMatches): Option[Side] = {
    val streamed = best.streamedSide(join.left.outputSet)
    val ofOther = streamed.other.of(join).outputSet
    // The optimizer will push conjuncts that read only the other side below the join.
    val asked = join.condition.toSeq.flatMap(Predicates.split)
      .filterNot(e => e.references.nonEmpty && e.references.subsetOf(ofOther))
    for {
      keyless <- Some(join).filter(PartitionRangeJoins.isWithoutKeys)
      range <- extracted(keyless.copy(condition = asked.reduceOption(And(_, _))), streamed).toOption
      _ <- BestCopies.orderOf(range, best, streamed.of(join).outputSet)
    } yield streamed
  }

  private def extracted(join: Join, streamed: Side): Either[Reason, RangeCondition] =
    RangeExtractor.extract(join, Some(streamed))

  // ---------------------------------------------------------------- open ranges

  /** A join whose nearest matches are found in an open range; None where there is a range, or nothing to win. */
  private[rangejoin] def withOpenRange(join: Join, best: BestMatches): Option[Join] = {
    val streamed = best.streamedSide(join.left.outputSet)
    for {
      point <- best.point
      open = OpenRange(
        best.order.child,
        point,
        meaningOfNull(join, best),
        excludesNaN = best.distance.exists(_.misplacesNaN),
        greatest = best.distance.flatMap(_.greatest),
        rounding = best.distance.flatMap(_.rounding).filter(_ => best.ranksTies)
      )
      withRange = join.copy(condition = Some(join.condition.fold[Expression](open)(And(_, open))))
      if !join.isStreaming && WantedPairs.areAll(join.joinType, streamed)
      if extracted(join, streamed).isLeft
      range <- extracted(withRange, streamed).toOption
      if BestOrder.of(range, best).isDefined
      planned <-
        if (PartitionRangeJoins.isWithoutKeys(withRange)) withoutKeys(withRange, best)
        else Some(withRange).filterNot(Predicates.hasOneMatch(_, streamed))
    } yield planned
  }

  /** A join without keys over a broadcast or, of two large sides, by buckets; None where neither is to be. */
  private def withoutKeys(join: Join, best: BestMatches): Option[Join] = {
    val streamed = best.streamedSide(join.left.outputSet)
    val hint = hintOf(join, streamed)
    val ofOther = hintOf(join, streamed.other)
    if (!conf.crossJoinEnabled) None
    else if (conf.getConf(RangeJoinConf.Broadcast) && ofOther.isEmpty &&
      hint.fold(isSmall(join, streamed))(_.strategy.contains(BROADCAST)))
      Some(broadcasting(join, streamed))
    else if (conf.getConf(RangeJoinConf.RangePartitioning) &&
      !(hint ++ ofOther).exists(_.strategy.exists(Loops.contains)) &&
      rankedSide(join, best).isDefined) Some(join)
    else None
  }

  /** Whether the side that is not streamed is to be broadcast. */
  private def isSmall(join: Join, streamed: Side): Boolean = {
    def ofStreamed = KnownSize.of(streamed.of(join))
    // Spark broadcasts a streamed side that is tiny, and compares its rows with all others.
    KnownSize.of(streamed.other.of(join)).exists { size =>
      size <= conf.autoBroadcastJoinThreshold ||
      (size <= mostBroadcast && ofStreamed.exists(_ >= LeastStreamed))
    }
  }

  private def hintOf(join: Join, streamed: Side): Option[HintInfo] =
    streamed.other.of(join.hint.leftHint, join.hint.rightHint)

  /** The other way may be to compare all rows with all, so that it may be more than Spark would broadcast. */
  private def mostBroadcast: BigInt = BigInt(conf.autoBroadcastJoinThreshold) * TimesThreshold

  private val TimesThreshold = 4

  /** What Spark compares all rows of two sides by, where a hint says so. */
  private val Loops = Set[JoinStrategyHint](BROADCAST, SHUFFLE_REPLICATE_NL)

  /** Some thousand rows. */
  private val LeastStreamed = BigInt(16 << 10)

  /** A join that streams a side, since it is told to broadcast the other one. */
  private def broadcasting(join: Join, streamed: Side): Join = {
    val hint = hintOf(join, streamed).orElse(Some(HintInfo(strategy = Some(BROADCAST))))
    val hints =
      if (streamed == LeftSide) join.hint.copy(rightHint = hint)
      else join.hint.copy(leftHint = hint)
    join.copy(hint = hints)
  }

  private def meaningOfNull(join: Join, best: BestMatches): NullBound = {
    val column = best.column
    def isKnown(c: Attribute) = join.children.exists(_.constraints.contains(IsNotNull(c)))
    if (column.exists(c => join.condition.exists(Predicates.refusesNull(_, c)) || isKnown(c)))
      NullBound.NoMatch
    // In the order of the ranking it comes before all values, in that of the values behind them.
    else if (best.order.nullOrdering == NullsFirst && column.exists(_.nullable))
      NullBound.OutOfOrder
    else NullBound.BehindValues
  }

  // ---------------------------------------------------------------- which side to stream

  /**
   * An inner join of two small sides without a key, which streams the side whose rows the matches are wanted for.
   *
   * Only where pairs are likely to cost more than an index of the larger side: of ranges with one end, which hold half of
   * all pairs, or where the larger side is not much larger. A hint overrides what is found out later, so it is not given
   * where the larger side may turn out to be far too large: where it has columns of any length, or makes rows. With a key,
   * stock Spark may be fast whatever the sizes are. Not where a hint says something.
   */
  private def streaming(join: Join, demand: Demand): Join = {
    val (left, right) = (join.left.outputSet, join.right.outputSet)
    val ranked = demand.best.flatMap(_.of(left, right).toOption).map { best =>
      best.streamedSide(left) -> ((range: RangeCondition) => BestOrder.of(range, best).isDefined)
    }
    val aggregated = for {
      wanted <- demand.aggregates
      side <- wanted.sides(left, right).toOption.collect { case Seq(side) => side }
    } yield side -> ((range: RangeCondition) => range.residual.isEmpty && !wanted.hasPython)
    (ranked ++ aggregated)
      .collectFirst { case (side, isServed) if isWorthIt(join, side, isServed) => side }
      .fold(join)(broadcasting(join, _))
  }

  private def isWorthIt(join: Join, side: Side, isServed: RangeCondition => Boolean): Boolean =
    conf.getConf(RangeJoinConf.Broadcast) &&
      join.joinType.isInstanceOf[InnerLike] && join.hint == JoinHint.NONE && !join.isStreaming &&
      PartitionRangeJoins.isWithoutKeys(join) && {
        val (streamed, other) =
          (side.of(join).stats.sizeInBytes, side.other.of(join).stats.sizeInBytes)
        other <= conf.autoBroadcastJoinThreshold && streamed <= other &&
        streamed >= LeastStreamed && hasEstimate(side.other.of(join)) &&
        extracted(join, side).exists { range =>
          isServed(range) && (range.isOneSided || other <= streamed * MostTimes)
        }
      }

  /** Whether Spark's estimate of the size of a plan means something: of others it may be far too low. */
  private def hasEstimate(plan: LogicalPlan): Boolean =
    plan.output.forall(column => UnsafeRow.isFixedLength(column.dataType)) && !plan.exists {
      case _: LeafNode | _: Project | _: Filter | _: Aggregate | _: Join | _: Union | _: Sort |
          _: Window | _: LocalLimit | _: GlobalLimit | _: RepartitionOperation =>
        false
      case _ => true
    }

  /** An index of so many times the rows costs little more than one of the smaller side. */
  private val MostTimes = 4
}

/** The size of a plan as Spark estimates it; None of one with rows that have no size before the optimizer has run. */
private[rangejoin] object KnownSize {

  def of(plan: LogicalPlan): Option[BigInt] =
    try Some(plan.stats.sizeInBytes)
    catch { case _: UnsupportedOperationException => None }
}
