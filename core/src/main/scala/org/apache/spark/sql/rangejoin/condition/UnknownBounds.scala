// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.condition

import org.apache.spark.sql.rangejoin.kernel.RangeBound

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
