// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import scala.annotation.tailrec

import org.apache.spark.internal.Logging
import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.catalyst.expressions.IntegerLiteral
import org.apache.spark.sql.catalyst.optimizer.BuildLeft
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.adaptive.LogicalQueryStageStrategy
import org.apache.spark.sql.execution.joins.{
  BroadcastHashJoinExec,
  BroadcastNestedLoopJoinExec,
  CartesianProductExec,
  ShuffledHashJoinExec,
  SortMergeJoinExec
}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}
import org.apache.spark.sql.rangejoin.broadcast.BroadcastRangeJoinExec
import org.apache.spark.sql.rangejoin.condition.{
  JoinCondition,
  Predicates,
  RangeCondition,
  RangeExtractor,
  Reason
}
import org.apache.spark.sql.rangejoin.conf.RangeJoinConf
import org.apache.spark.sql.rangejoin.hint.RangeJoinHint
import org.apache.spark.sql.rangejoin.shims.ClassicSession.SparkSession
import org.apache.spark.sql.rangejoin.shuffled.{ProductRangeJoinExec, ShuffledRangeJoinExec}

/**
 * Marks the sort-merge, shuffled hash and broadcast joins that can run as range joins. The plan is Spark's
 * own in every case: this strategy asks `JoinSelection` and hands on its answer, with a mark where it is a
 * join with a range. [[PlaceRangeJoins]] acts on the mark once all rules of Spark that know the stock node
 * are done with it.
 *
 * Where Spark has planned a nested loop over two large sides, [[PartitionRangeJoins]] answers with a join by
 * range buckets instead; or [[DeferShuffle]] does, if one of them has turned out to be small. Not below a small
 * limit, as `show()` has it: stock Spark's plan gives the first rows before all of both sides is read.
 *
 * Returns Nil where nothing is marked, so that strategies of other extensions see every other join.
 * `JoinSelection` is asked only if the condition has a range, since asking repeats its hint
 * warnings. (If Spark then plans another kind of join, a hint that it cannot follow is warned
 * about twice.)
 *
 * Steps aside for streaming plans, and where a finished broadcast stage decides the join.
 *
 * A join with the hint `RANGE_JOIN` is marked whatever the settings are, and planned as a sort-merge join
 * where what Spark has planned cannot be marked; where that fails, Spark's log says why.
 */
case class MarkRangeJoins(session: SparkSession) extends SparkStrategy {
  import MarkRangeJoins._

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join: Join
        if (isHinted(join) || isOn(RangeJoinConf.Enabled)) &&
          LogicalQueryStageStrategy(join).isEmpty =>
      val planned = for {
        _ <- hasRange(join)
        marked <- marked(join).fold(reason => merged(join).getOrElse(Left(reason)), Right(_))
      } yield marked
      planned.left.foreach(reason => RangeJoinHint.warn(join, reason.message))
      planned.getOrElse(Nil)
    case other =>
      tellOfLimit(other)
      Nil
  }

  /** How Spark plans a join. */
  protected def selected(join: Join): Seq[SparkPlan] =
    session.sessionState.planner.JoinSelection(join)

  private def isOn(entry: ConfigEntry[Boolean]): Boolean =
    session.sessionState.conf.getConf(entry)

  private def isHinted(join: Join): Boolean = RangeJoinHint.in(join.hint).isDefined

  private def marksBroadcastJoins(join: Join): Boolean =
    isHinted(join) || isOn(RangeJoinConf.Broadcast)

  private def makesRangeBuckets(join: Join): Boolean =
    isHinted(join) || isOn(RangeJoinConf.RangePartitioning)

  /** Whether the join has a range, by the condition of whatever node Spark may plan for it. */
  private def hasRange(join: Join): Either[Reason, Unit] = {
    val withoutKeys = Predicates.conditionBesideKeys(join)
    // A nested loop join has the keys in its condition.
    val isLoop = marksBroadcastJoins(join) || (withoutKeys.isEmpty && makesRangeBuckets(join))
    val conditions = withoutKeys.toSeq ++ (if (isLoop) Seq(join.condition) else Nil)
    if (join.isStreaming) Left(Reason.Streaming)
    else if (conditions.flatten.exists(RangeExtractor.hasComparison)) {
      val (left, right) = (join.left.outputSet, join.right.outputSet)
      val ranges =
        conditions.map(c => RangeExtractor.extract(JoinCondition(join.joinType, c, left, right)))
      val reason = ranges.collectFirst { case Left(first) => first }
      reason.filter(_ => ranges.forall(_.isLeft)).toLeft(()).left.map { none =>
        leave("Spark's own strategies", join.simpleString(100), none)
        none
      }
    } else Left(if (withoutKeys.contains(None)) Reason.NoCondition else Reason.NoRangePredicate)
  }

  /** The join as Spark plans it, with a mark; or why none can be put on it. */
  private def marked(join: Join): Either[Reason, Seq[SparkPlan]] = {
    val planned = selected(join)
    val withoutKeys =
      if (makesRangeBuckets(join) && PartitionRangeJoins.isQuadratic(planned, join) &&
        !keepsPlan(planned, join)) partitioned(join)
      else None
    withoutKeys.map(Right(_)).getOrElse {
      val refusals = planned.flatMap(mark(_, join))
      if (refusals.size < planned.size) Right(planned)
      else Left(refusals.headOption.getOrElse(Reason.NoRangePredicate))
    }
  }

  /**
   * Whether the nested loop that Spark has planned becomes a range join as it is, since that is done with the first rows
   * of a small limit. Where it broadcasts a side, all of that is read: not if it is large.
   */
  private def keepsPlan(planned: Seq[SparkPlan], join: Join): Boolean =
    join.getTagValue(Limited).isDefined && !isHinted(join) &&
      PartitionRangeJoins.isQuadratic(planned, join) && (planned match {
        case Seq(loop: BroadcastNestedLoopJoinExec) =>
          val side = if (loop.buildSide == BuildLeft) join.left else join.right
          isOn(RangeJoinConf.Broadcast) && side.stats.sizeInBytes <= MostBroadcast
        case _ => true
      })

  /** A join without keys over a side that has turned out small, or by buckets. */
  private def partitioned(join: Join): Option[Seq[SparkPlan]] = {
    val byBuckets = PartitionRangeJoins.of(join, session)
    val overSmall = DeferShuffle.overSmall(join).filter(mark(_, join).isEmpty)
    overSmall.orElse(byBuckets).map(Seq(_))
  }

  /**
   * A join that is asked to be a range join, and is none as Spark plans it: both sides are sorted, by
   * buckets where there is no key.
   */
  private def merged(join: Join): Option[Either[Reason, Seq[SparkPlan]]] =
    if (!isHinted(join)) None
    else {
      val plan =
        if (Predicates.conditionBesideKeys(join).isEmpty) {
          PartitionRangeJoins.of(join, session).map(plan => Right(Seq(plan)))
        } else Some(marked(join.copy(hint = RangeJoinHint.asMerge(join.hint))))
      if (plan.exists(_.isRight)) RangeJoinHint.warnOfOverridden(join)
      plan
    }

  /** Marks a join where it has a range, and otherwise says why there is none. */
  private def mark(planned: SparkPlan, join: Join): Option[Reason] = {
    val hinted = isHinted(join)
    val range = planned match {
      case smj: SortMergeJoinExec       => RangeExtractor.extract(smj)
      case hashed: ShuffledHashJoinExec => shuffledRangeOf(hashed, hinted)
      case product: CartesianProductExec
          if makesRangeBuckets(join) && keepsPlan(Seq(product), join) =>
        ProductRangeJoinExec.of(product).extracted
      case other => broadcastRangeOf(other, hinted || isOn(RangeJoinConf.Broadcast))
    }
    range.fold(leave(planned, _), _ => planned.setTagValue(Mark, Marked(hinted)))
    range.left.toOption
  }

  private def shuffledRangeOf(
      join: ShuffledHashJoinExec,
      hinted: Boolean
  ): Either[Reason, RangeCondition] =
    if (hinted || isOn(RangeJoinConf.Shuffled)) ShuffledRangeJoinExec.of(join).extracted
    else Left(Reason.SwitchedOff(RangeJoinConf.Shuffled.key))

  private def broadcastRangeOf(
      join: SparkPlan,
      broadcasts: Boolean
  ): Either[Reason, RangeCondition] = BroadcastRangeJoinExec.of(join) match {
    case Some(ours) if broadcasts => ours.extracted
    case Some(_)                  => Left(Reason.SwitchedOff(RangeJoinConf.Broadcast.key))
    case None                     => Left(join match {
        case _: BroadcastHashJoinExec => Reason.NullAware
        case _                        => Reason.NoKey
      })
  }
}

object MarkRangeJoins extends Logging {

  /** @param hinted whether the join is to be a range join whatever the settings are */
  case class Marked(hinted: Boolean)

  /** On a stock join: [[PlaceRangeJoins]] replaces it by a range join. */
  val Mark: TreeNodeTag[Marked] = TreeNodeTag[Marked]("rangejoin.mark")

  /** On a stock join that planning left alone for more than its condition: why. */
  val ReasonTag: TreeNodeTag[Reason] = TreeNodeTag[Reason]("rangejoin.reason")

  /** On a logical join: a small limit above reads its first rows. */
  private val Limited = TreeNodeTag[Unit]("rangejoin.limited")

  /**
   * Rows of a small limit. Notebooks and query tools ask for up to so many; a larger limit may well need all of a join.
   */
  private val MostRows = 10000

  /** Tells the join below a small limit, to which the planner comes later. */
  @tailrec
  private def tellOfLimit(plan: LogicalPlan, isLimited: Boolean = false): Unit = plan match {
    case LocalLimit(IntegerLiteral(most), child) =>
      tellOfLimit(child, isLimited || most <= MostRows)
    case _: ReturnAnswer | _: GlobalLimit | _: Offset =>
      tellOfLimit(plan.children.head, isLimited)
    // Row by row. An RDD of objects is a producer without a child.
    case _: Project | _: Filter | _: Generate | _: Sample | _: ObjectConsumer | _: ObjectProducer | _: TypedFilter
        if plan.children.nonEmpty =>
      tellOfLimit(plan.children.head, isLimited)
    case join: Join if isLimited => join.setTagValue(Limited, ())
    case _                       =>
  }

  /** Bytes of a side that is broadcast below a small limit, whatever Spark's own threshold. */
  private val MostBroadcast = BigInt(64 << 20)

  /** Says why a join stays as Spark planned it. */
  private[plan] def leave(join: SparkPlan, reason: Reason): Unit =
    leave(join.nodeName, join.simpleString(100), reason)

  private def leave(to: String, join: => String, reason: Reason): Unit =
    logDebug(s"Join is left to $to: ${reason.message}\n$join")
}
