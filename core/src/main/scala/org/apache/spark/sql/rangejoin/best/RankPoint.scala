// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.catalyst.expressions.Expression

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
