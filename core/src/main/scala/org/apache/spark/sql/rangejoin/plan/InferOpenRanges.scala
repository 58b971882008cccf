// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.kernel.NullBound
import org.apache.spark.sql.rangejoin.reduce.{BestMatches, BestOrder}

/**
 * Gives a join that has no range an [[OpenRange]], where the nearest matches of each row are wanted: by a rank, by
 * `min_by` and the like, or by `NEAREST BY`, which Spark makes `min_by` of. Then it is planned as a range join,
 * which finds them by a search; stock Spark compares all rows of a key. Joins that have a range are marked for
 * [[CopyBestMatches]].
 *
 * Runs once, after predicate pushdown (a pre-CBO rule).
 */
object InferOpenRanges extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!conf.getConf(RangeJoinConf.Enabled) || !conf.getConf(RangeJoinConf.BestMatches)) plan
    else
      plan.transformDownWithPruning(WantedPairs.mayBeIn) { case node =>
        WantedPairs.of(node).map { case (wanted, pairs) =>
          node.transformDown { case same if same.eq(pairs) => ranged(wanted, pairs) }
        }.getOrElse(node)
      }

  private def ranged(wanted: WantedPairs, plan: LogicalPlan): LogicalPlan = plan match {
    case project @ Project(columns, child) =>
      wanted.below(columns).map(below => project.copy(child = ranged(below, child)))
        .getOrElse(plan)
    case join: Join =>
      val best = wanted.of(join.left.outputSet, join.right.outputSet).toOption
      best.filter(_.distance.exists(_.nearest)).flatMap(of(join, _)).getOrElse {
        best.foreach(CopyBestMatches.mark(join, _))
        join
      }
    case _ => plan
  }

  /** A join whose nearest matches are found in an open range; None where there is a range, or nothing to win. */
  private[rangejoin] def of(join: Join, best: BestMatches): Option[Join] = {
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
      planned <- withRange match {
        case ExtractEquiJoinKeys(_, leftKeys, rightKeys, _, _, _, _, _) =>
          val keys = ExpressionSet(if (streamed == LeftSide) rightKeys else leftKeys)
          // Not where a row has one match at most.
          if (streamed.other.of(join).distinctKeys.exists(_.subsetOf(keys))) None
          else Some(withRange)
        case _ => withoutKeys(withRange, best)
      }
    } yield planned
  }

  private def extracted(join: Join, streamed: Side): Either[Reason, RangeCondition] =
    RangeExtractor.extract(join, Some(streamed))

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
      CopyBestMatches.mark(join, best)) Some(join)
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
    if (streamed == LeftSide) join.hint.rightHint else join.hint.leftHint

  /** The other way may be to compare all rows with all, so that it may be more than Spark would broadcast. */
  private def mostBroadcast: BigInt = BigInt(conf.autoBroadcastJoinThreshold) * TimesThreshold

  private val TimesThreshold = 4

  /** What Spark compares all rows of two sides by, where a hint says so. */
  private val Loops = Set[JoinStrategyHint](BROADCAST, SHUFFLE_REPLICATE_NL)

  /** Some thousand rows. */
  private[plan] val LeastStreamed = BigInt(16 << 10)

  /** A join that streams a side, since it is told to broadcast the other one. */
  private[plan] def broadcasting(join: Join, streamed: Side): Join = {
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
}
