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
package org.apache.spark.sql.rangejoin.spread

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Cast, Expression}
import org.apache.spark.sql.catalyst.plans.{FullOuter, InnerLike, JoinType}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.kernel.{GuardedValue, RangeBound}
import org.apache.spark.sql.types.{DataType, DatetimeType, IntegralType}

/**
 * The bounds of one side of a spread join: the row takes up the positions from `low` to `high`. A bound
 * that is absent has no end, or is the same as the other for an owner that is a point.
 */
case class SideBounds(low: Option[RangeBound], high: Option[RangeBound]) {

  /**
   * What is evaluated for each row: for each bound its long and, where that is a prefix, its value.
   * A row one of whose bounds is NULL matches nothing.
   */
  def columns: Seq[Expression] = each.flatMap { bound =>
    if (isLossless) Seq(bound) else Seq(bound, GuardedValue(bound.child))
  }

  /** Where the bounds are among the columns. */
  def places: BoundColumns = {
    val width = if (isLossless) 1 else 2
    BoundColumns(
      low.map(_ => 0),
      high.map(_ => if (low.isDefined) width else 0),
      isLossless,
      each.head.child.dataType)
  }

  private def each: Seq[RangeBound] = low.toSeq ++ high

  // The values of both have one order, so that both are lossless or neither.
  private def isLossless: Boolean = each.forall(_.isLossless)
}

/**
 * Where the bounds of a side are in a row of its columns.
 *
 * @param low where its long is, if it has one; its value follows unless the long is all there is
 * @param isLossless whether the long is all there is
 * @param dataType the type of the values
 */
case class BoundColumns(
    low: Option[Int],
    high: Option[Int],
    isLossless: Boolean,
    dataType: DataType
) {
  val all: Seq[Int] = low.toSeq ++ high

  def hasNull(row: InternalRow): Boolean =
    low.isDefined && row.isNullAt(low.get) || high.isDefined && row.isNullAt(high.get)

  def cell(row: InternalRow, at: Int, cells: CellSearch): Int =
    if (isLossless) cells.cell(row.getLong(at))
    else cells.cell(row.getLong(at), row.get(at + 1, dataType))

  /** Likewise, where it is likely to be the one of the other bound of the row. */
  private def cellNear(near: Int, row: InternalRow, at: Int, cells: CellSearch): Int =
    if (isLossless) cells.cellNear(near, row.getLong(at)) else cell(row, at, cells)

  /** The number of cells from the low end of a row to its high end; of an owner of intervals. */
  def length(row: InternalRow, cells: CellSearch): Int = {
    val first = cell(row, low.get, cells)
    math.max(0, cellNear(first, row, high.get, cells) - first)
  }

  /**
   * The id of the bucket of a row of the owner.
   *
   * @param lengths where the length of an interval counts; null where it need not
   */
  def ownerId(row: InternalRow, layout: BucketLayout, lengths: LengthCounter = null): Int = {
    val first = cell(row, all.head, layout.cells)
    if (all.size == 1) layout.ownerId(first)
    else {
      val last = cellNear(first, row, all.last, layout.cells)
      if (lengths == null) layout.ownerId(first, last) else lengths.ownerId(layout, first, last)
    }
  }

  /** Visits the ids of the buckets of a row of the other side. */
  def foreachCopy(row: InternalRow, layout: BucketLayout)(visit: Int => Unit): Unit = {
    val first = low.fold(0)(cell(row, _, layout.cells))
    layout.foreachCopy(
      first,
      high.fold(layout.lastCell)(cellNear(first, row, _, layout.cells)))(visit)
  }
}

/**
 * A range as the spreading of rows over buckets sees it: two rows can match only if the positions they
 * take up meet, the owner's `low <= high` of the other side and its `high >= low` of the other side.
 * Necessary, not sufficient: strict tests are taken for inclusive, and the join decides.
 *
 * @param owner the side each row of which is in one bucket; rows of the other side are copied
 * @param ofOwner `high` is absent where the owner is a point
 * @param ofCopied a bound is absent where the range has one direction
 * @param dataType the type of the values that are compared
 * @param keepsUnmatched whether rows of the owner appear in the result without a match
 */
case class SpreadRange(
    owner: Side,
    ofOwner: SideBounds,
    ofCopied: SideBounds,
    dataType: DataType,
    keepsUnmatched: Boolean
) {

  def bounds(isOwner: Boolean): SideBounds = if (isOwner) ofOwner else ofCopied

  /** Whether every row of the owner takes up one position. */
  def isPoint: Boolean = ofOwner.high.isEmpty
}

object SpreadRange {

  /**
   * How to spread a join without keys.
   *
   * @param larger the side with more rows, which is the owner where nothing else speaks for either
   */
  def of(range: RangeCondition, joinType: JoinType, larger: Side): Option[SpreadRange] = {
    val behavior = JoinTypeBehavior.of(joinType).filter(_ => joinType != FullOuter)
    val tests = range.upperTest.toSeq ++ range.lowerTest
    behavior.filter(_ => tests.nonEmpty).map { b =>
      val owner = b.streamed.getOrElse {
        Seq(larger, larger.other).find(side => tests.size == 2 && isPoint(tests, side))
          .getOrElse(larger)
      }
      require(b.streamed.isDefined || joinType.isInstanceOf[InnerLike])
      spread(tests, owner, b.visitsAllStreamed && b.streamed.isDefined)
    }
  }

  private def spread(tests: Seq[RangeTest], owner: Side, keeps: Boolean): SpreadRange = {
    val below = tests.find(_.lesserSide == owner) // owner <= other
    val above = tests.find(_.lesserSide != owner) // other <= owner
    (below, above) match {
      case (Some(start), Some(end)) if sameOrder(start, end) =>
        val high = if (isPoint(tests, owner)) None else Some(bound(end, owner, below = false))
        SpreadRange(
          owner,
          SideBounds(Some(bound(start, owner, below = true)), high),
          SideBounds(
            Some(bound(end, owner.other, below = true)),
            Some(bound(start, owner.other, below = false))),
          typeOf(start),
          keeps
        )
      // Values of two types have no common order, and one of the tests is as good as none.
      case (Some(start), _) =>
        SpreadRange(
          owner,
          SideBounds(Some(bound(start, owner, below = true)), None),
          SideBounds(None, Some(bound(start, owner.other, below = false))),
          typeOf(start),
          keeps)
      case (None, Some(end)) =>
        SpreadRange(
          owner,
          SideBounds(Some(bound(end, owner, below = false)), None),
          SideBounds(Some(bound(end, owner.other, below = true)), None),
          typeOf(end),
          keeps)
      case (None, None) => throw new IllegalStateException("a range has a test")
    }
  }

  private def bound(test: RangeTest, side: Side, below: Boolean) =
    RangeBound(
      test.on(side),
      test.trusted.get(side),
      unboundedBelow = below,
      strict = false,
      // An open end reaches as far as what is unknown, and is no place to cut at.
      test.nullBound(side, placed = false)
    )

  private def typeOf(test: RangeTest): DataType = test.lesser.dataType

  /** Whether a value of either test has one place among the values of both. */
  private def sameOrder(a: RangeTest, b: RangeTest): Boolean = (typeOf(a), typeOf(b)) match {
    case (_: IntegralType, _: IntegralType) => true
    case (x, y)                             => DataTypeUtils.sameType(x, y)
  }

  /** Whether a side takes up one position, which is known for every row that has one. */
  private def isPoint(tests: Seq[RangeTest], side: Side): Boolean =
    tests.forall(t =>
      !t.trusted.contains(side) && !t.readsNull(side) && neverRaises(t.on(side))) &&
      tests.tail.forall(t =>
        sameOrder(t, tests.head) && t.on(side).semanticEquals(tests.head.on(side)))

  private def neverRaises(e: Expression): Boolean = e match {
    case _: Attribute => true
    // The last dates are no timestamps.
    case Cast(child, to, _, _) =>
      neverRaises(child) && !child.dataType.isInstanceOf[DatetimeType] &&
      Cast.canUpCast(child.dataType, to)
    case _ => false
  }
}
