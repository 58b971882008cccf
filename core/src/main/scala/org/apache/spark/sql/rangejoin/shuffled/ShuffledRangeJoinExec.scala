// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.BuildSide
import org.apache.spark.sql.catalyst.plans.JoinType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.joins.{ShuffledHashJoinExec, ShuffledJoin}
import org.apache.spark.sql.rangejoin.best.BestMatches
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.sort.RangeSortExec

/**
 * A join of two shuffled sides whose condition holds a range on top of the keys: the build side of
 * each partition becomes an index of the range, and the streamed side is read once, in any order.
 * Neither is sorted, unless there is no memory for the index ([[PartitionJoin]]).
 *
 * Replaces a `ShuffledHashJoinExec`.
 */
case class ShuffledRangeJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan,
    isSkewJoin: Boolean = false,
    best: Option[BestMatches] = None
) extends ShuffledJoin
    with PartitionIndexJoinExec {

  override def withBest(best: Option[BestMatches]): ShuffledRangeJoinExec = copy(best = best)

  override def extracted: Either[Reason, RangeCondition] = super.extracted.flatMap(inOrder)

  override def placeable: Either[Reason, RangeCondition] = normalForm.flatMap(inOrder)

  /** Where both sides are sorted, rows come in the order of the keys and the range. */
  private def inOrder(range: RangeCondition): Either[Reason, RangeCondition] =
    Either.cond(
      SortOrder.orderingSatisfies(streamedOrder(range), stockOrder),
      range,
      Reason.OrderedStreamedSide(stockOrder))

  /** A cached table may be in the order of columns that are not read. */
  private def stockOrder: Seq[SortOrder] =
    stock.outputOrdering.takeWhile(_.references.subsetOf(streamedPlan.outputSet))

  override def asStock: ShuffledHashJoinExec = ShuffledHashJoinExec(
    leftKeys,
    rightKeys,
    joinType,
    buildSide,
    condition,
    left,
    right,
    isSkewJoin)

  /**
   * As far as rows are in it where both sides are sorted: the streamed side may turn out to be in another order, or in
   * a longer one, after the node was placed.
   */
  override def outputOrdering: Seq[SortOrder] =
    stockOrder.zip(streamedOrder(range)).takeWhile { case (promised, sorted) =>
      promised.satisfies(sorted)
    }.map(_._1)

  /** As in Spark's hash joins, which sort nothing. */
  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Nil, Nil)

  /** The order that a scan of both sides sorted needs, or a longer one that the rows are in. */
  override protected def streamedOrder(range: RangeCondition): Seq[SortOrder] = {
    val needed = super.streamedOrder(range)
    val kept = stockOrder.map(_.copy(sameOrderExpressions = Nil))
    if (SortOrder.orderingSatisfies(kept, needed) && kept.forall(RangeSortExec.isPlain)) kept
    else needed
  }

  override protected def codegenPrefix: String = "shrj"

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): ShuffledRangeJoinExec =
    copy(left = newLeft, right = newRight)
}

object ShuffledRangeJoinExec {

  /** The range join that replaces a shuffled hash join. */
  def of(join: ShuffledHashJoinExec): ShuffledRangeJoinExec = ShuffledRangeJoinExec(
    join.leftKeys,
    join.rightKeys,
    join.joinType,
    join.buildSide,
    join.condition,
    join.left,
    join.right,
    join.isSkewJoin)
}
