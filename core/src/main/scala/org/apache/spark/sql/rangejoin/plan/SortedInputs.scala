// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.plan

import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  Expression,
  ExpressionSet,
  NamedExpression,
  SortOrder
}
import org.apache.spark.sql.execution.{ProjectExec, SortExec, SparkPlan}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.join.CodegenBoundaryExec
import org.apache.spark.sql.rangejoin.kernel.RangeBound
import org.apache.spark.sql.rangejoin.merge.SortMergeRangeJoinExec
import org.apache.spark.sql.rangejoin.scan.ScanOrder
import org.apache.spark.sql.rangejoin.sort.RangeSortExec
import org.apache.spark.sql.rangejoin.sortedtables.SortedFiles

/**
 * Supplies the order that a sort-merge range join needs of its sides: sorts that know the range instead of the sorts by
 * key that were planned for the stock join, and none where a side is in this order.
 */
private[plan] object SortedInputs {

  def of(join: SortMergeRangeJoinExec, range: RangeCondition): SortMergeRangeJoinExec = {
    def side(child: SparkPlan, keys: Seq[Expression], side: Side) = {
      def boundOf(child: SparkPlan) = this.boundOf(child, range, side, join)
      val read = inOrderOfFiles(child, keys, boundOf(child))
      ordered(read, keys, boundOf(read))
    }
    val (left, leftKey) = side(join.left, join.leftKeys, LeftSide)
    val (right, rightKey) = side(join.right, join.rightKeys, RightSide)
    join.copy(leftRangeKey = leftKey, rightRangeKey = rightKey, left = left, right = right)
  }

  /**
   * In the order of the files that it is read from, where that saves the sort, or some of it; by no more
   * columns than that.
   */
  private def inOrderOfFiles(
      child: SparkPlan,
      keys: Seq[Expression],
      bound: Option[RangeBound]
  ): SparkPlan = child match {
    case SortExec(byKeys, false, input, _) =>
      val whole = ScanOrder.of(keys, bound)
      SortedFiles.inOrder(input).flatMap { files =>
        Seq(whole, byKeys)
          .find(SortOrder.orderingSatisfies(files.outputOrdering, _))
          .map(needed => files.copy(sortOrder = files.sortOrder.take(needed.size)))
      }.getOrElse(child)
    case other => other
  }

  /**
   * The bound by which a side is sorted: the one it has to be ordered by or else, if it is sorted anyway, a preferred
   * one.
   */
  private def boundOf(
      child: SparkPlan,
      range: RangeCondition,
      side: Side,
      join: SortMergeRangeJoinExec
  ): Option[RangeBound] =
    join.orderOf(side).orElse(child match {
      case _: SortExec =>
        // Aggregated runs then grow from one streamed row to the next, and the best matches of neighbouring rows lie
        // near each other, which matters when the window is on disk.
        val isSearched =
          if (join.best.isDefined) side == range.streamed && range.isOneSided
          else join.streamed.contains(side) && range.residual.isEmpty
        val preferred =
          if (!isSearched) range.preferredOrderOf(side)
          else if (range.isOpen)
            join.best.fold(range.open.map(_.point))(_.point).map(pointOf)
          else range.upperBound
        preferred.filter(MonotoneColumn.of(_).isDefined)
      case _ => None
    })

  private def pointOf(value: Expression): RangeBound =
    RangeBound(value, None, unboundedBelow = true, strict = false)

  /**
   * The child in the order the join needs, and the column that holds the bound where one had to be
   * added: a bound that no column is known to rise with is evaluated once per row, not once per
   * comparison of the sort.
   */
  private def ordered(
      child: SparkPlan,
      keys: Seq[Expression],
      bound: Option[RangeBound]
  ): (SparkPlan, Option[Attribute]) = {
    val (input, rangeKey) = bound.filter(MonotoneColumn.of(_).isEmpty) match {
      case Some(computed) =>
        val added = Alias(computed.sortKey, Predicates.display(computed.child))()
        val projected = child.output :+ (added: NamedExpression)
        (ProjectExec(projected, unsorted(child)), Some(added.toAttribute))
      case None => (child, None)
    }
    val order = ScanOrder.of(keys, bound, rangeKey)
    val sorted =
      if (SortOrder.orderingSatisfies(input.outputOrdering, order)) input
      else RangeSortExec.sort(withBound(withEqualOrders(order, child), bound), unsorted(input))
    (CodegenBoundaryExec(sorted), rangeKey)
  }

  /** Says of a column that was added which bound it is: it is no column of the join's output. */
  private def withBound(order: Seq[SortOrder], bound: Option[RangeBound]): Seq[SortOrder] =
    bound.filter(MonotoneColumn.of(_).isEmpty).fold(order) { computed =>
      order.init :+ order.last.copy(sameOrderExpressions = Seq(computed.sortKey))
    }

  /**
   * Adds the orders that are known to be equal in the child: rows ordered by one key of a join below are ordered by the
   * other key as well, and stay so when sorted again. Operators above were planned on it.
   */
  private def withEqualOrders(order: Seq[SortOrder], child: SparkPlan): Seq[SortOrder] = {
    val promised = child.outputOrdering
    val kept = order.zip(promised).takeWhile { case (needed, by) => by.satisfies(needed) }.map {
      case (needed, by) =>
        val equal = (ExpressionSet(by.children) - needed.child)
          .filter(_.references.subsetOf(child.outputSet))
        needed.copy(sameOrderExpressions = equal.toSeq)
    }
    kept ++ order.drop(kept.size)
  }

  /** Without the sort by key that was planned for the stock join. */
  private def unsorted(child: SparkPlan): SparkPlan = child match {
    case SortExec(_, false, input, _) => input
    case other                        => other
  }
}
