// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.PartialFunction.cond

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.kernel.{NullBound, OrderedValue, RangeBound}
import org.apache.spark.sql.types.IntegralType

/**
 * How the best matches are found among the candidates of a streamed row: in the order of one of their
 * bounds, which rises with the column they are ranked by.
 *
 * @param bySortBound whether that is the bound of the upper test; else it is that of the lower test
 * @param descending whether those of the greatest bounds come first
 * @param limit how many ranks there are
 * @param keepsTies whether candidates of the same bound as the last one wanted are wanted, too
 * @param countsTies whether those of the same bound have ranks of their own
 * @param hasClampedEnds whether different values may have one bound next to the extremes, as beside open ends
 * @param nullsBehind whether those of a NULL are behind all others
 * @param rankPoint what they are compared with, of the streamed row; None where they are not
 */
case class BestOrder(
    bySortBound: Boolean,
    descending: Boolean,
    limit: Int,
    keepsTies: Boolean,
    countsTies: Boolean,
    hasClampedEnds: Boolean,
    nullsBehind: Boolean = false,
    rankPoint: Option[RankPoint] = None) {

  /** How far behind the last wanted match another wanted one may lie. */
  val slack: Long = rankPoint.fold(0L)(_.distance.slack)

  /** Whether two bounds are farther from each other than that. */
  def isBeyondSlack(a: Long, b: Long): Boolean = {
    val distance = math.abs(a - b)
    // A distance that does not fit into a long is beyond it, too.
    distance > slack || distance < 0
  }

  /** Whether those next to the point come first, on either side. */
  def nearest: Boolean = rankPoint.exists(_.distance.nearest)

  /** With the point of a row as tasks have it. */
  def bound(ofStreamed: Expression => Expression): BestOrder =
    copy(rankPoint = rankPoint.map(a => a.copy(point = ofStreamed(a.point))))
}

object BestOrder {

  /** The order of the candidates by a range; None where no bound is known to rise with the column. */
  def of(range: RangeCondition, best: BestMatches): Option[BestOrder] = {
    val bounds = range.sortBound.map(_ -> true) ++ range.evictBound.map(_ -> false)
    // Different values may have the same distance, and then all of them have one rank.
    val isRanked = best.ranking != Ranking.DenseRank || best.distance.forall(_.slack == 0)
    best.column.filter(_ => isRanked && isNaNPlaced(range, best)).flatMap { column =>
      bounds.collectFirst {
        case (bound, isSort)
            if isNeighbourly(bound, range, best) && risesWith(bound, column, best) &&
              isPlaced(bound, best) && (!best.ranksTies || isValueOf(bound.child, column)) =>
          BestOrder(
            isSort,
            best.isDescending,
            best.limit,
            // Different values may have the same bound.
            best.ranking != Ranking.RowNumber || !isValueOf(bound.child, column),
            best.ranking != Ranking.DenseRank,
            bound.nulls.isDefined,
            bound.nulls.contains(NullBound.BehindValues),
            for (distance <- best.distance; at <- pointIn(bound, best))
              yield RankPoint(at, distance)
          )
      }
    }
  }

  /**
   * Whether rows with NaN are where the ranking has them: the distance does not misplace NaN, or
   * the range is open (their bounds are unknown), or it ends at the point (NaN is no candidate).
   */
  private def isNaNPlaced(range: RangeCondition, best: BestMatches): Boolean =
    !best.distance.exists(_.misplacesNaN) || range.isOpen ||
      range.upperTest.exists(test =>
        best.point.exists(Predicates.haveSameValue(test.on(range.streamed), _)))

  /**
   * Whether candidates are neighbours in the order of a bound's values. Where bounds are prefixes, they say
   * nothing of distances, nor whether the other ends of intervals rise.
   */
  private def isNeighbourly(bound: RangeBound, range: RangeCondition, best: BestMatches): Boolean =
    bound.isLossless || (best.point.isEmpty && range.areNeighbours)

  /** The best matches wanted of a join, if the join can return them in its order. */
  def served(
      range: Either[Reason, RangeCondition],
      best: Option[BestMatches]): Option[BestMatches] =
    best.filter(wanted => range.exists(of(_, wanted).isDefined))

  /**
   * The best matches wanted of a join that may stream either side, if it can return them in its order.
   *
   * @param range by the side that is to be streamed; None for the side that the range has streamed
   */
  def served(
      range: Option[Side] => Either[Reason, RangeCondition],
      best: BestMatches,
      left: AttributeSet)
      : Option[BestMatches] = {
    val side = best.streamedSide(left)
    val isStreamed = range(None).exists(_.streamed == side)
    served(
      range(Some(side)).filterOrElse(isStreamed || isRun(_, best), Reason.NoRangePredicate),
      Some(best))
  }

  /**
   * Whether candidates are sure to be neighbours in the order of both bounds. Intervals of arbitrary lengths are not:
   * keeping them in the window on the chance of it may cost more than all pairs.
   */
  private def isRun(range: RangeCondition, best: BestMatches): Boolean = range.isOneSided || {
    val columns = (range.sortBound ++ range.evictBound).map(columnOf(_, best))
    columns.forall(_.isDefined) && columns.toSeq.distinct.size == 1
  }

  private def risesWith(bound: RangeBound, column: Attribute, best: BestMatches): Boolean =
    columnOf(bound, best).exists(_.semanticEquals(column))

  // Bounds of rows that are not trusted are unknown, and with one of these all matches are given.
  private def columnOf(bound: RangeBound, best: BestMatches): Option[Attribute] =
    MonotoneColumn.of(bound.copy(trusted = None, nulls = bound.nulls.filterNot(isPlaced(_, best))))

  /** Whether rows with a NULL are where the ranking has them: beyond all values, or nothing is known. */
  private def isPlaced(nulls: NullBound, best: BestMatches): Boolean = cond(nulls) {
    case NullBound.Unknown | NullBound.OutOfOrder => true
    case NullBound.BehindValues                   =>
      best.distance.exists(_.nearest) && best.order.nullOrdering == NullsLast
  }

  private def isPlaced(bound: RangeBound, best: BestMatches): Boolean =
    best.point.isEmpty || pointIn(bound, best).isDefined

  /** The bound that a row would have whose column equals the point. */
  private def pointIn(bound: RangeBound, best: BestMatches): Option[Expression] =
    best.point.map { point =>
      bound.child.transformDown { case e if Predicates.haveSameValue(e, best.order.child) => point }
    }.collect {
      case at
          if at.resolved && at.dataType == bound.child.dataType &&
            !best.column.exists(at.references.contains) =>
        // Clamped like the values that have NULL behind them; a NULL point is unknown.
        val nulls = bound.nulls.collect {
          case NullBound.BehindValues | NullBound.OutOfOrder => NullBound.OutOfOrder
        }
        RangeBound(Distance.finite(at), None, unboundedBelow = true, strict = false, nulls)
    }

  private def isValueOf(e: Expression, column: Attribute): Boolean = e match {
    case OrderedValue(child)                          => isValueOf(child, column)
    case Add(child, step, _) if isWhole(e, step)      => isValueOf(child, column)
    case Subtract(child, step, _) if isWhole(e, step) => isValueOf(child, column)
    case other                                        => other.semanticEquals(column)
  }

  /** Whether each value has a sum of its own, or raises. */
  private def isWhole(sum: Expression, step: Expression): Boolean =
    step.foldable && sum.dataType.isInstanceOf[IntegralType]
}

/**
 * A point of the streamed row in the order of the bounds of candidates.
 *
 * @param point a long; the smallest one, or NULL, where it is unknown
 */
case class RankPoint(point: Expression, distance: DistanceOrder) {

  /**
   * Whether the difference of a point and a bound, and its absolute value, are what they seem, and do not
   * raise. If they are for the ends of a run, they are for all in between.
   */
  def holds(point: Long, bound: Long): Boolean = distance.greatest match {
    case None           => true
    case Some(greatest) =>
      val difference = point - bound
      // The bounds of the greatest values may be less by two.
      ((point ^ bound) & (point ^ difference)) >= 0 &&
      difference >= 2 - greatest && difference <= greatest - 2
  }
}

object RankPoint {

  /** What stands for a point that is not known. */
  final val Unknown = Long.MinValue
}
