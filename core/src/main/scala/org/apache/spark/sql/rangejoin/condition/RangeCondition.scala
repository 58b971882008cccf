// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedLong, RangeBound}

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

  /** What it is if everything is in the range. */
  def open: Option[OpenRange] = predicates.collectFirst { case open: OpenRange => open }

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

/**
 * The test `lesser <= greater` (or `<` where strict) between an expression of one side and an
 * expression of the other.
 *
 * @param lesserSide the side `lesser` belongs to; `greater` belongs to the other
 * @param predicate the conjunct of the join condition that the test comes from
 * @param trusted by side, a condition without which the test says nothing about a row
 * @param exact when the test says all that the predicate says, for pairs of trusted rows
 * @param nulls by side, what a NULL of its value means, where it is the open end of either side; none
 *   where a NULL matches nothing
 * @param isEnclosing whether the test covers several that are joined by OR
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
    isEnclosing: Boolean = false
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
   * @param hasLong whether an open end has a long of its own; else it is unknown, as where longs are prefixes
   */
  def nullBound(side: Side, hasLong: Boolean): Option[NullBound] =
    if (hasLong && isLosslessType) nulls.get(side)
    else if (readsNull(side)) Some(NullBound.Unknown)
    else None

  /** The comparison itself, where bounds are only prefixes of the values. */
  def byValue: Option[Expression] =
    if (isLosslessType) None
    else Some(if (strict) LessThan(lesser, greater) else LessThanOrEqual(lesser, greater))
}

/** Whether a predicate has to be asked again for pairs that pass its test. */
sealed trait Exactness

/** The test is the predicate. */
case object Exact extends Exactness

/**
 * The test is the predicate if the range has this test and the `opposite` one. One limit of a difference holds for
 * pairs whose difference overflows, which are no match; both together do not.
 */
case class ExactWith(opposite: Expression) extends Exactness

/** The predicate says more than the test. */
case object Inexact extends Exactness

/**
 * Which bounds may be unknown if they are at an extreme of LONG (see `RangeBound`), so that the original condition
 * decides. Other bounds are values there, such as the greatest BIGINT for "no end", and the longs decide about the
 * pair.
 *
 * @param lower whether the lower bound of the streamed side may be unknown; likewise the others
 * @param strictLower whether equality does not pass the lower test: a bound at the greatest long could not be moved,
 *   and so meets bounds that equal it
 * @param strictUpper likewise of the upper test, at the smallest long
 */
final case class UnknownBounds(
    lower: Boolean,
    upper: Boolean,
    sort: Boolean,
    evict: Boolean,
    strictLower: Boolean,
    strictUpper: Boolean) {

  /** Whether the condition has to be asked about all pairs of a streamed row. */
  def inStreamed(lowerBound: Long, upperBound: Long): Boolean =
    (lowerBound == Long.MinValue && lower) || (upperBound == Long.MaxValue && upper) ||
      (lowerBound == Long.MaxValue && strictLower) || (upperBound == Long.MinValue && strictUpper)

  /** Whether it has to be asked about all pairs of a buffered row. */
  def inBuffered(sortBound: Long, evictBound: Long): Boolean =
    (sortBound == Long.MinValue && sort) || (evictBound == Long.MaxValue && evict)
}

object UnknownBounds {

  /** Where all bounds may be unknown. */
  val All: UnknownBounds = UnknownBounds(
    lower = true,
    upper = true,
    sort = true,
    evict = true,
    strictLower = false,
    strictUpper = false)

  def of(range: RangeCondition): UnknownBounds = UnknownBounds(
    lower = range.lowerBound.exists(mayBe),
    upper = range.upperBound.exists(mayBe),
    sort = range.sortBound.exists(mayBe),
    evict = range.evictBound.exists(mayBe),
    strictLower = range.lowerBound.exists(_.strict),
    strictUpper = range.upperBound.exists(_.strict)
  )

  /** Whether a bound at the extreme may be unknown. */
  def mayBe(bound: RangeBound): Boolean =
    !(bound.isLossless && bound.trusted.isEmpty && bound.nulls.isEmpty &&
      Predicates.neverRaises(bound.child))
}

/**
 * A range that has no end: every value of one side is in it, for every point of the other. It is true of all pairs, and
 * its operands are never evaluated. A join without a range gets it if its matches are ranked by the distance of the
 * value from the point: then the rows of a key are read in the order of their values, and the nearest are found by a
 * search. Likewise if its matches are aggregated in windows of the value.
 *
 * @param value by which the rows of one side are ordered
 * @param point of the other side
 * @param nulls what a NULL value means: it matches nothing, if the condition of the join says so elsewhere; it is
 *   behind all values, or before them; or the order of the rows is not known
 * @param excludesNaN whether the order of rows with NaN is not known either
 * @param greatest beyond it the distance wraps around, or raises; None where it never does
 * @param rounding how the distance is rounded, where all rows that tie by it are wanted; else None
 * @param ofWindows whether it is there for windows of the value, and not for its distance from the point
 */
case class OpenRange(
    value: Expression,
    point: Expression,
    nulls: NullBound,
    excludesNaN: Boolean = false,
    greatest: Option[Long] = None,
    rounding: Option[Rounding] = None,
    ofWindows: Boolean = false)
    extends BinaryExpression with PlanningConjunct {

  override def left: Expression = value

  override def right: Expression = point

  override def toString: String =
    if (ofWindows) s"any $value" else s"$value at any distance from $point"

  override def sql: String =
    if (ofWindows) s"any ${value.sql}" else s"${value.sql} at any distance from ${point.sql}"

  override protected def withNewChildrenInternal(
      newLeft: Expression,
      newRight: Expression): OpenRange = copy(value = newLeft, point = newRight)

  /** `value <= end`, where the end is open for every row. */
  private[condition] def test(side: Side): RangeTest =
    RangeTest(
      value,
      Literal(null, value.dataType),
      side,
      strict = false,
      this,
      trusted = if (excludesNaN) Map(side -> Not(IsNaN(value))) else Map.empty,
      nulls = Map(side -> nulls, side.other -> NullBound.OpenEnd)
    )
}

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
