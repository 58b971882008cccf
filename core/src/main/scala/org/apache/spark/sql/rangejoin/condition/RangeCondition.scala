/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions.{And, Expression, LessThan, LessThanOrEqual, Or}
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedLong, RangeBound}

/** Which child of a join. */
sealed trait Side {
  def other: Side = if (this == LeftSide) RightSide else LeftSide
}
case object LeftSide extends Side
case object RightSide extends Side

/** Whether a predicate has to be asked again for pairs that pass its test. */
sealed trait Exactness

/** The test is the predicate. */
case object Exact extends Exactness

/**
 * The test is the predicate if the range is made of it and of the test that `opposite` stands for.
 * One limit of a difference holds for pairs whose difference overflows, which are no match; both
 * together do not.
 */
case class ExactWith(opposite: Expression) extends Exactness

/** The predicate says more than the test. */
case object Inexact extends Exactness

/**
 * The test `lesser <= greater` (or `<` where strict) between an expression of one side and an
 * expression of the other.
 *
 * @param lesserSide the side `lesser` belongs to; `greater` belongs to the other
 * @param predicate the conjunct of the join condition that the test comes from
 * @param trusted by side, what has to hold for the test to say anything of a row
 * @param exact when the test says all that the predicate says, for pairs of trusted rows
 * @param nulls by side, what a NULL of its value means, where it is the open end of either side; none
 *   where a NULL matches nothing
 * @param isHull whether the test covers several that are joined by OR
 */
case class RangeTest(
    lesser: Expression,
    greater: Expression,
    lesserSide: Side,
    strict: Boolean,
    predicate: Expression,
    trusted: Map[Side, Expression] = Map.empty,
    exact: Exactness = Exact,
    nulls: Map[Side, NullBound] = Map.empty,
    isHull: Boolean = false
) {

  def on(side: Side): Expression = if (side == lesserSide) lesser else greater

  /** Whether the values compared are longs, so that a bound decides by itself. */
  def isLosslessType: Boolean = OrderedLong.isLossless(lesser.dataType)

  /** Whether a NULL is the open end of a side. */
  def hasOpenEnds: Boolean = nulls.nonEmpty

  /** Whether a row of a side in which the value is NULL may match. */
  def readsNull(side: Side): Boolean =
    on(side).nullable && nulls.get(side).exists(_ != NullBound.NoMatch)

  /**
   * What a NULL means to a bound.
   *
   * @param placed whether an open end has a long of its own; else it is unknown, as is any other end of
   *   which a prefix is all that is known
   */
  def nullBound(side: Side, placed: Boolean): Option[NullBound] =
    if (placed && isLosslessType) nulls.get(side)
    else if (readsNull(side)) Some(NullBound.Unknown)
    else None

  /** The comparison itself, where bounds are only prefixes of the values. */
  def tie: Option[Expression] =
    if (isLosslessType) None
    else Some(if (strict) LessThan(lesser, greater) else LessThanOrEqual(lesser, greater))
}

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
 * @param residual what else has to hold for a candidate
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
      test.nullBound(side, placed = true))

  /** What decides the upper test where its longs are equal; None where equal longs pass it. */
  def upperTie: Option[Expression] = upperTest.flatMap(_.tie)

  /** What decides the lower test where its longs are equal; None where equal longs pass it. */
  def lowerTie: Option[Expression] = lowerTest.flatMap(_.tie)

  /**
   * The condition of the join, where `decided` says of a pair whether its bounds decide about the
   * range: the condition itself if they do not, and what is the residual if they do. Conjuncts stay
   * in their order, and what they raise as well.
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
   * The bound by which the rows of a side are sorted within their key if they are sorted by the key in
   * any case: in the order of their evict bounds rows leave a window at its head alone, and those
   * behind one that stays need not be asked.
   */
  def preferredOrderOf(side: Side): Option[RangeBound] =
    orderOf(side).orElse(if (side == streamed) None else evictBound)

  /** The range as a user would write it. */
  def sql: String = predicates.map(_.sql).mkString(" AND ")
}
