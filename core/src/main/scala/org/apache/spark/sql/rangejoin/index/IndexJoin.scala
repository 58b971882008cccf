// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.{JoinTypeBehavior, RangeCondition}
import org.apache.spark.sql.rangejoin.join.PairTestSpec

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
    PairTestSpec.of(range, condition, best.isDefined).map(ofPair),
    behavior,
    boundPoint,
    boundSecond
  )
}
