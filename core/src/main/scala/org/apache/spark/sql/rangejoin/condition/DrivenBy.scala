// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._

/**
 * Says in the condition of a join which of its ranges drives it, if that is not the one that the form of the condition
 * selects. It is true of every pair, and its child is never evaluated: conjuncts keep the order in which the user has
 * written them, and so raise the same errors. As a part of the condition it stays with the join through every rule,
 * unlike a tag.
 *
 * @param child the conjuncts of the range once more
 */
case class DrivenBy(child: Expression) extends UnaryExpression with PlanningConjunct {

  override def toString: String = s"driven by $child"

  override def sql: String = s"driven by ${child.sql}"

  override protected def withNewChildInternal(newChild: Expression): DrivenBy =
    copy(child = newChild)
}

private[rangejoin] object DrivenBy {

  /** A condition that says which of its ranges drives. */
  def apply(range: RangeCondition, condition: Expression): Expression =
    And(DrivenBy(range.predicates.reduce[Expression](And(_, _))), condition)

  /**
   * A condition in its parts.
   *
   * @param driving the conjuncts that are to drive the join, once more; empty if the condition does not say
   */
  private[condition] case class Parts(conjuncts: Seq[Expression], driving: Seq[Expression])

  private[condition] def split(condition: Expression): Parts = {
    val (marks, conjuncts) = Predicates.split(condition).partition(_.isInstanceOf[DrivenBy])
    Parts(conjuncts, marks.flatMap(_.children).flatMap(Predicates.split))
  }
}
