// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import scala.PartialFunction.condOpt

import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  Attribute,
  AttributeSet,
  Descending,
  Expression,
  SortOrder,
  Unevaluable
}
import org.apache.spark.sql.rangejoin.condition.{Distance, LeftSide, RightSide, Rounding, Side}
import org.apache.spark.sql.types.DataType

/**
 * Which matches of a streamed row are wanted: the first ones by a column of the other side, or by the column's distance
 * from a value of the row, ranked from 1 as the window function `ranking` does, up to the rank `limit`.
 *
 * A join returns at least these and may return any other match as well, because the operator that wants them ranks or
 * aggregates again. So a join looks for the best matches where they are adjacent, and returns all matches elsewhere.
 *
 * @param order by a column of the side that is not streamed, or a cast that keeps its values
 * @param point the value of the streamed row that the column is compared with, if it is
 * @param distance how it is compared; with `point`
 */
case class BestMatches(
    order: SortOrder,
    limit: Int,
    ranking: Ranking,
    point: Option[Expression] = None,
    distance: Option[DistanceOrder] = None)
    extends Expression
    with Unevaluable {
  require(limit > 0, s"the best $limit matches")

  override def children: Seq[Expression] = order +: point.toSeq

  override def dataType: DataType = order.dataType

  override def nullable: Boolean = true

  /** The column; None if a rule of Spark has replaced it. */
  def column: Option[Attribute] =
    if (point.isDefined) Distance.columnOf(order.child)
    else condOpt(order.child) { case a: Attribute => a }

  /**
   * This ranking by a distance, as an order of the column; None if the farthest matches are wanted.
   *
   * @param negated whether matches are ranked by the negated distance
   */
  def by(d: Distance, negated: Boolean = false): Option[BestMatches] = {
    val least = (order.direction == Ascending) != negated
    val direction = if (d.absolute || least != d.falls) Ascending else Descending
    if (d.absolute && !least) None
    else
      Some(copy(
        order = order.copy(child = d.value, direction = direction),
        point = Some(d.point),
        distance = Some(DistanceOrder(
          d.absolute,
          d.greatest,
          d.slack,
          d.rounding,
          misplacesNaN = d.rounding.isDefined && d.falls != negated))
      ))
  }

  /** Whether different values of the column may tie, and all that tie are wanted. */
  def ranksTies: Boolean =
    ranking != Ranking.RowNumber && distance.exists(_.rounding.isDefined)

  def isDescending: Boolean = order.direction == Descending

  /** The side that has to be streamed. */
  def streamedSide(left: AttributeSet): Side =
    if (order.references.subsetOf(left)) RightSide else LeftSide

  /** What matches are ranked by, as text. */
  def rankedBy(show: Expression => String): String = point match {
    case Some(from) if distance.exists(_.nearest) =>
      s"distance of ${show(order.child)} from ${show(from)}"
    case _ => show(order.child) + (if (isDescending) " DESC" else "")
  }

  override def toString: String = {
    val by = if (point.isDefined) rankedBy(_.toString) else order.toString
    s"best $limit by $by, $ranking"
  }

  override def sql: String = toString

  override protected def withNewChildrenInternal(children: IndexedSeq[Expression]): BestMatches =
    copy(order = children.head.asInstanceOf[SortOrder], point = children.lift(1))
}

/** How matches that tie are ranked. */
sealed abstract class Ranking(name: String) extends Serializable {
  override def toString: String = name
}

object Ranking {

  /** Each has a rank of its own, in any order. */
  case object RowNumber extends Ranking("row_number")

  /** All have the rank of the first, and the next rank counts them. */
  case object Rank extends Ranking("rank")

  /** All have the rank of the first, and the next rank is the next number. */
  case object DenseRank extends Ranking("dense_rank")

  /** What finds the candidates of `row_number`: rows that tie by the first column are ranked by the others. */
  def ofRowNumber(order: Seq[SortOrder]): Ranking = if (order.size == 1) RowNumber else Rank
}

/**
 * How the column that matches are ranked by is compared with a point.
 *
 * @param nearest whether those next to the point come first, on either side
 * @param greatest beyond it their difference wraps around, or raises; None where it never does
 * @param slack how far apart two values of the column may be in the wrong order
 * @param rounding how their difference is rounded; None where it is not
 * @param misplacesNaN whether NaN, the greatest value of the column, is ranked at the other end by
 *   the distance, which is NaN whatever the sign
 */
case class DistanceOrder(
    nearest: Boolean,
    greatest: Option[Long],
    slack: Long,
    rounding: Option[Rounding],
    misplacesNaN: Boolean)
