// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.optimizer.{BuildRight, BuildSide}
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.rangejoin.condition.{LeftSide, RangeCondition, RightSide, Side}
import org.apache.spark.sql.rangejoin.join.RangeJoinExec

/** What range joins with an index of one side share beyond [[RangeJoinExec]]. */
trait IndexedRangeJoinExec extends RangeJoinExec {

  /** The side that is indexed. */
  def buildSide: BuildSide

  override protected def fixedSide: Option[Side] =
    Some(if (buildSide == BuildRight) LeftSide else RightSide)

  override protected def shownArgs: Seq[Any] = Seq(joinType, buildSide)

  protected lazy val buildColumns: Seq[Attribute] = otherPlan.output.filterNot(isAdded)

  /** Keys as the index has them. */
  protected def packed(keys: Seq[Expression]): Seq[Expression] =
    if (keys.isEmpty) Nil else HashJoin.rewriteKeyExpr(keys)

  @transient protected lazy val join: IndexJoin = IndexJoin(
    packed(streamedKeys),
    range,
    condition.getOrElse(Literal.TrueLiteral),
    behavior,
    streamedPlan.output,
    buildColumns,
    bestOrder,
    second
  )

  /** A second range, by which a search may leave out rows; None where there is none. */
  protected def second: Option[RangeCondition] = None
}
