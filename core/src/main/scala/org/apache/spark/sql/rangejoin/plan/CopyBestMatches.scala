// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.{And, Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.Join
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.rangejoin.condition.{LeftSide, Predicates, RangeExtractor, Side}
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.partitioning.{BestCopies, RangeBucketExec}
import org.apache.spark.sql.rangejoin.reduce.{BestMatches, BestOrder}

/**
 * Makes a join by range buckets copy only the best rows to other buckets, where nothing else is wanted from them
 * ([[org.apache.spark.sql.rangejoin.partitioning.BestCopies]]): in a range without an end, each row would be copied to
 * all buckets on one side of its own.
 *
 * What ranks the pairs stays above the join, so nothing depends on the join still being asked for the best matches
 * when the rows have been shuffled and the rest is planned again.
 */
object CopyBestMatches extends Rule[SparkPlan] {

  override def apply(plan: SparkPlan): SparkPlan = plan.transform {
    case join: SortMergeRangeJoinExec if join.leftKeys.exists(RangeBucketExec.isBucket) =>
      BestCopies.wanted(join) match {
        case Some((LeftSide, order)) =>
          join.copy(right = copying(join.right, join.rightKeys, order))
        case Some((_, order)) => join.copy(left = copying(join.left, join.leftKeys, order))
        case None             => join
      }
  }

  /** On an inner join: the side to be the owner, since the best matches of its rows are wanted. */
  private val RankedSide = TreeNodeTag[Side]("rangejoin.rankedSide")

  /** Marks a join without keys if only its best rows have to be copied; returns whether it did. */
  private[plan] def mark(join: Join, best: BestMatches): Boolean = {
    val streamed = best.streamedSide(join.left.outputSet)
    val isMarked =
      PartitionRangeJoins.isWithoutKeys(join) && orderOf(join, best, streamed).isDefined
    if (isMarked) join.setTagValue(RankedSide, streamed)
    isMarked
  }

  private def orderOf(join: Join, best: BestMatches, streamed: Side): Option[BestOrder] = {
    val (ofStreamed, ofOther) =
      (streamed.of(join).outputSet, streamed.other.of(join).outputSet)
    // The optimizer will push conjuncts that read only the other side below the join.
    val asked = join.condition.toSeq.flatMap(Predicates.split)
      .filterNot(e => e.references.nonEmpty && e.references.subsetOf(ofOther))
    RangeExtractor.extract(join.copy(condition = asked.reduceOption(And(_, _))), Some(streamed))
      .toOption.flatMap(BestCopies.orderOf(_, best, ofStreamed))
  }

  /** The side of a marked join that is to be the owner. */
  private[plan] def rankedSide(join: Join): Option[Side] = join.getTagValue(RankedSide)

  /** The side with the copies, if it is yet to be shuffled. */
  private def copying(side: SparkPlan, keys: Seq[Expression], order: BestOrder): SparkPlan =
    side match {
      case buckets: RangeBucketExec if !buckets.isOwner && isKey(buckets.bucket, keys) =>
        buckets.partitioning.copyBest(order, buckets.output)
        buckets.copy(best = Some(order))
      case node: UnaryExecNode => node.withNewChildren(Seq(copying(node.child, keys, order)))
      case other               => other
    }

  private def isKey(bucket: Attribute, keys: Seq[Expression]): Boolean =
    keys.exists(Predicates.haveSameValue(_, bucket))
}
