// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.{And, Expression, Or}
import org.apache.spark.sql.rangejoin.kernel.RangeBound

/**
 * The normal form of a range condition, seen from the side that is streamed:
 *
 * {{{
 *   upper test   sortBound(buffered) <= upperBound(streamed)
 *   lower test   evictBound(buffered) >= lowerBound(streamed)
 * }}}
 *
 * All four are longs (see [[RangeBound]]); strictness is inside the streamed bounds. The buffered
 * side is scanned in the order of `sortBound`, the streamed side in the order of `lowerBound`. A
 * range that is bounded in one direction has one of the two tests.
 *
 * @param streamed the side that is streamed; the other is buffered
 * @param predicates the conjuncts that became the tests, for display
 * @param residual the rest of the condition, evaluated for candidates
 */
case class RangeCondition(
    streamed: Side,
    upperTest: Option[RangeTest],
    lowerTest: Option[RangeTest],
    predicates: Seq[Expression],
    residual: Option[Expression]
) {

  def buffered: Side = streamed.other

  /** Whether the range has no end in one direction. */
  def isOneSided: Boolean = upperTest.isDefined != lowerTest.isDefined

  def hasTwoEnds: Boolean = upperTest.isDefined && lowerTest.isDefined

  /** Whether everything is in the range, which is then of use for a ranking only. */
  def isOpen: Boolean =
    predicates.nonEmpty && predicates.forall(_.isInstanceOf[OpenRange])

  val upperBound: Option[RangeBound] = upperTest.map(streamedBound(_, unboundedBelow = false))
  val lowerBound: Option[RangeBound] = lowerTest.map(streamedBound(_, unboundedBelow = true))
  val sortBound: Option[RangeBound] = upperTest.map(bufferedBound(_, unboundedBelow = true))
  val evictBound: Option[RangeBound] = lowerTest.map(bufferedBound(_, unboundedBelow = false))

  private def streamedBound(test: RangeTest, unboundedBelow: Boolean) =
    bound(test, streamed, unboundedBelow, strict = test.strict && test.isLosslessType)

  private def bufferedBound(test: RangeTest, unboundedBelow: Boolean) =
    bound(test, buffered, unboundedBelow, strict = false)

  private def bound(test: RangeTest, side: Side, unboundedBelow: Boolean, strict: Boolean) =
    RangeBound(
      test.on(side),
      test.trusted.get(side),
      unboundedBelow,
      strict,
      test.nullBound(side, hasLong = true))

  /** Which bounds may be unknown. */
  lazy val unknown: UnknownBounds = UnknownBounds.of(this)

  /** Whether both tests read one value of the buffered side: in its order matching rows are neighbours. */
  def areNeighbours: Boolean = {
    val values = (sortBound ++ evictBound).map(_.child)
    values.nonEmpty && values.tail.forall(Predicates.haveSameValue(_, values.head))
  }

  /** What decides the upper test where its longs are equal; None where equal longs pass it. */
  def upperByValue: Option[Expression] = upperTest.flatMap(_.byValue)

  /** What decides the lower test where its longs are equal; None where equal longs pass it. */
  def lowerByValue: Option[Expression] = lowerTest.flatMap(_.byValue)

  /**
   * The condition of the join: the residual if the bounds of a pair decide about the range (`decided`), else the whole
   * condition. Conjuncts keep their order, and so the errors that they raise.
   */
  def unlessDecided(condition: Expression, decided: Expression): Expression = {
    val asked = residual.toSeq.flatMap(Predicates.split)
    def among(conjuncts: Seq[Expression], conjunct: Expression) = conjuncts.exists(_.eq(conjunct))
    def weakened(e: Expression): Expression = e match {
      case And(a, b)                                     => And(weakened(a), weakened(b))
      case c if among(predicates, c) && !among(asked, c) => Or(decided, c)
      case other                                         => other
    }
    weakened(condition)
  }

  /**
   * The bound by which the rows of a side have to be sorted within their key; None where any order
   * will do.
   */
  def orderOf(side: Side): Option[RangeBound] = if (side == streamed) lowerBound else sortBound

  /**
   * The bound by which the rows of a side are sorted within their key if they are sorted by the key in any case. Rows
   * in the order of their evict bounds leave a window at its head only: behind a row that stays all stay.
   */
  def preferredOrderOf(side: Side): Option[RangeBound] =
    orderOf(side).orElse(if (side == streamed) None else evictBound)
}
