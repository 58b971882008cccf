// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.{FullOuter, InnerLike, JoinType}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.kernel.{GuardedValue, NullBound, OrderedLong, RangeBound}
import org.apache.spark.sql.types.{DataType, IntegralType}

/**
 * A range as the partitioning of rows by buckets sees it: two rows can match only if the positions they
 * take up meet, the owner's `low <= high` of the other side and its `high >= low` of the other side.
 * Necessary, not sufficient: strict tests are taken for inclusive, and the join decides.
 *
 * @param owner the side each row of which is in one bucket; rows of the other side are copied
 * @param ofOwner `high` is absent where the owner is a point
 * @param ofCopied a bound is absent where the range has one direction
 * @param dataType the type of the values that are compared
 * @param preservesOwner whether rows of the owner appear in the result without a match
 */
case class PartitionedRange(
    owner: Side,
    ofOwner: SideBounds,
    ofCopied: SideBounds,
    dataType: DataType,
    preservesOwner: Boolean
) {

  def bounds(isOwner: Boolean): SideBounds = if (isOwner) ofOwner else ofCopied

  /** Whether a row need not be compared with all others. */
  def isBounded: Boolean = ofCopied.distance.isEmpty

  /** Whether every row of the owner takes up one position. */
  def isPoint: Boolean = ofOwner.high.isEmpty
}

object PartitionedRange {

  /**
   * How to partition a join without keys.
   *
   * @param likely the owner where nothing else speaks for either side
   */
  def of(range: RangeCondition, joinType: JoinType, likely: Side): Option[PartitionedRange] = {
    val behavior = JoinTypeBehavior.of(joinType).filter(_ => joinType != FullOuter)
    val tests = range.upperTest.toSeq ++ range.lowerTest
    if (range.isOpen) {
      for {
        b <- behavior
        owner = b.streamed.getOrElse(likely)
        open <- range.open
        if owner == range.streamed
      } yield anyDistance(range, open, keeps = b.visitsAllStreamed && b.streamed.isDefined)
    } else behavior.filter(_ => tests.nonEmpty).map { b =>
      val owner = b.streamed.getOrElse {
        Seq(likely, likely.other).find(side => tests.size == 2 && isPoint(tests, side))
          .getOrElse(likely)
      }
      require(b.streamed.isDefined || joinType.isInstanceOf[InnerLike])
      partitioned(tests, owner, b.visitsAllStreamed && b.streamed.isDefined)
    }
  }

  /** The positions that rows take up in a range, whatever the join is. */
  def positions(range: RangeCondition, owner: Side): PartitionedRange =
    partitioned(range.upperTest.toSeq ++ range.lowerTest, owner, keeps = false)

  private def partitioned(tests: Seq[RangeTest], owner: Side, keeps: Boolean): PartitionedRange = {
    val start = tests.find(_.lesserSide == owner) // owner <= other
    // Values of two types have no common order, and one of the tests is as good as none.
    val end = tests.find(_.lesserSide != owner).filter(e => start.forall(sameOrder(_, e)))
    val high = end.map(bound(_, owner, below = false))
    PartitionedRange(
      owner,
      if (start.isEmpty) SideBounds(high, None)
      else {
        SideBounds(
          start.map(bound(_, owner, below = true)),
          high.filterNot(_ => isPoint(tests, owner)))
      },
      SideBounds(
        end.map(bound(_, owner.other, below = true)),
        start.map(bound(_, owner.other, below = false))),
      typeOf(start.orElse(end).get),
      keeps
    )
  }

  /** Where the nearest rows are wanted: the streamed side is the owner. */
  private def anyDistance(
      range: RangeCondition,
      open: OpenRange,
      keeps: Boolean): PartitionedRange = {
    val isRefused = Distance.columnOf(open.point).exists { column =>
      range.residual.exists(Predicates.refusesNull(_, column))
    }
    def point(below: Boolean) = RangeBound(
      Distance.finite(open.point),
      None,
      unboundedBelow = below,
      strict = false,
      if (isRefused && !Distance.isFloating(open.point.dataType)) None else Some(NullBound.Unknown)
    )
    val value = (range.upperTest ++ range.lowerTest).head
    val distance = Some(AnyDistance(open.greatest, open.rounding))
    PartitionedRange(
      range.streamed,
      SideBounds(Some(point(below = true)), Some(point(below = false)), distance),
      SideBounds(Some(bound(value, range.buffered, below = true)), None, distance),
      open.value.dataType,
      keeps
    )
  }

  private def bound(test: RangeTest, side: Side, below: Boolean) =
    RangeBound(
      test.on(side),
      test.trusted.get(side),
      unboundedBelow = below,
      strict = false,
      // An open end reaches as far as what is unknown, and is no boundary.
      test.nullBound(side, hasLong = false)
    )

  private def typeOf(test: RangeTest): DataType = test.lesser.dataType

  /** Whether a value of either test has one position among the values of both. */
  private def sameOrder(a: RangeTest, b: RangeTest): Boolean = (typeOf(a), typeOf(b)) match {
    case (_: IntegralType, _: IntegralType) => true
    case (x, y)                             => DataTypeUtils.sameType(x, y)
  }

  /** Whether a side takes up one position, which is known for every row that has one. */
  private def isPoint(tests: Seq[RangeTest], side: Side): Boolean =
    tests.forall(isKnown(_, side)) &&
      tests.tail.forall(t =>
        sameOrder(t, tests.head) && Predicates.haveSameValue(t.on(side), tests.head.on(side)))

  /** Whether the value of a side is known for every row that has one. */
  def isKnown(test: RangeTest, side: Side): Boolean =
    !test.trusted.contains(side) && !test.readsNull(side) &&
      Predicates.neverRaises(test.on(side))
}

/**
 * The bounds of one side of a join by buckets: the row takes up the positions from `low` to `high`. A bound
 * that is absent has no end, or is the same as the other for an owner that is a point.
 *
 * @param distance if rows match at any distance: a bound then says where a row lies
 */
case class SideBounds(
    low: Option[RangeBound],
    high: Option[RangeBound],
    distance: Option[AnyDistance] = None) {

  /**
   * What is evaluated for each row: for each bound its long and, where that is a prefix, its value.
   * A row one of whose bounds is NULL matches nothing.
   */
  def columns: Seq[Expression] = each.flatMap { bound =>
    if (isLossless) Seq(bound) else Seq(bound, GuardedValue(bound.child))
  }

  /** Whether a bound at an extreme may be unknown. */
  def mayBeUnknown: Boolean = each.exists(UnknownBounds.mayBe)

  /** Where the bounds are among the columns. */
  def ordinals: BoundColumns = ordinalsFrom(0)

  /** Where the bounds are if the columns come after `first` others. */
  def ordinalsFrom(first: Int): BoundColumns = {
    val width = if (isLossless) 1 else 2
    BoundColumns(
      low.map(_ => first),
      high.map(_ => if (low.isDefined) first + width else first),
      isLossless,
      each.head.child.dataType,
      mayBeUnknown,
      distance)
  }

  private def each: Seq[RangeBound] = low.toSeq ++ high

  // The values of both have one order, so that both are lossless or neither.
  private def isLossless: Boolean = each.forall(_.isLossless)
}

/**
 * Describes a range without an end, of which only the nearest rows are wanted: every row of the owner matches every row
 * of the other side. A row of the owner lies in one bucket, together with the rows near it; the nearest rows of the
 * buckets before and after it are copied there ([[BestCopies]]). That is not enough if distances from the row might
 * wrap around, raise, or be rounded too much: then the row needs all rows.
 *
 * @param greatest beyond it distances wrap around, or raise; None where they never do
 * @param rounding how distances are rounded, if all rows that tie by a rounded distance are wanted; else None
 */
case class AnyDistance(greatest: Option[Long], rounding: Option[Rounding] = None) {

  /** Whether the rows that are nearest to a point are known, by its bound. */
  def hasKnownNearest(cells: CellSearch, point: Long): Boolean =
    greatest.forall(cells.isCentral(point, _)) &&
      rounding.forall(r => math.abs(OrderedLong.toDouble(point)) <= AnyDistance.farthest(cells, r))
}

object AnyDistance {

  /**
   * How far from 0 a point may be if distances are rounded. At this distance the last digit is about 2^-32^ of the
   * greatest boundary (FLOAT: 2^-19^), so that few rows tie.
   */
  def farthest(cells: CellSearch, rounding: Rounding): Double =
    cells.greatestNumber * (if (rounding.single) 1 << 4 else 1 << 20)
}
