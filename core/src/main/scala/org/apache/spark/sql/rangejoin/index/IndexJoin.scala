// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.optimizer.{BuildRight, BuildSide}
import org.apache.spark.sql.execution.joins.HashJoin
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.{
  JoinTypeBehavior,
  LeftSide,
  RangeCondition,
  RightSide,
  Side
}
import org.apache.spark.sql.rangejoin.join.{PairTests, RangeJoinExec}

/**
 * What is evaluated where streamed rows are joined with an index, interpreted or generated.
 *
 * @param keys of the streamed side, as the index has them
 * @param condition the whole condition of the join, of which the range is a part
 * @param streamed the columns of the streamed side
 * @param build the columns of the side that is indexed
 * @param second a second range, by which rows are left out; None where there is none
 * @param best which matches of a streamed row are wanted; None for all of them
 */
case class IndexJoin(
    keys: Seq[Expression],
    range: RangeCondition,
    condition: Expression,
    behavior: JoinTypeBehavior,
    streamed: Seq[Attribute],
    build: Seq[Attribute],
    best: Option[BestOrder],
    second: Option[RangeCondition]
) {
  def boundKeys: Seq[Expression] = keys.map(ofStreamed)

  /** Bound to a streamed row. */
  def ofStreamed(e: Expression): Expression = bindReference(e, streamed)

  /** What the best matches are compared with; None where they are not. */
  def boundPoint: Option[Expression] = best.flatMap(_.rankPoint).map(a => ofStreamed(a.point))

  /** The lower and the upper bound of a streamed row by the second range; none where there is no such range. */
  def boundSecond: Seq[Expression] =
    second.toSeq.flatMap(r => r.lowerBound ++ r.upperBound).map(ofStreamed)

  /** Bound to a streamed row followed by a row of the index. */
  def ofPair(e: Expression): Expression = bindReference(e, streamed ++ build)

  def scannerFactory: IndexScannerFactory = IndexScannerFactory(
    boundKeys,
    range.lowerBound.map(ofStreamed),
    range.upperBound.map(ofStreamed),
    PairTests.of(range, condition, best.isDefined).map(ofPair),
    behavior,
    boundPoint,
    boundSecond
  )
}

/** What range joins with an index of one side share beyond [[RangeJoinExec]]. */
trait IndexedRangeJoinExec extends RangeJoinExec {

  /** The side that is indexed. */
  def buildSide: BuildSide

  override protected def fixedSide: Option[Side] =
    Some(if (buildSide == BuildRight) LeftSide else RightSide)

  override def mayStream(side: Side): Boolean = fixedSide.contains(side)

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
