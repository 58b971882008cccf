// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow

/**
 * Rows of one side that stand for all of it.
 *
 * @param low by row, its low end; None where the range has none
 * @param weight by row, how many rows it stands for
 * @param others the number of rows of which it is not known where they are, or that match nothing
 * @param keys by row, the hash of its keys; empty where there are none
 */
case class SideSample(
    low: Option[Array[Position]],
    high: Option[Array[Position]],
    weight: Array[Double],
    others: Double = 0,
    keys: Array[Int] = Array.empty
) {
  def rows: Double = weight.sum + others

  /**
   * How many rows share the position of a row, on average: of all pairs of rows as large a part is taken to do so as of
   * those of the sample.
   */
  def ties: Double = {
    val known = positions.indices.filter(i => positions(i) != null && positions(i).isKnown)
    val sharing =
      known.groupBy(positions(_)).values.map(same => same.size * (same.size - 1.0)).sum
    if (known.size < 2) 1.0
    else 1.0 + sharing / known.size / (known.size - 1) * (known.map(weight(_)).sum - 1)
  }

  /** Where rows are, by one end. */
  def positions: Array[Position] = low.orElse(high).get

  /**
   * The same rows, as if those that are known had no match in another cell.
   *
   * @param mayBeUnknown whether those at an extreme may be unknown
   */
  def asPoints(mayBeUnknown: Boolean): SideSample = {
    def opposite(ends: Array[Position], unknown: Long) =
      if (!mayBeUnknown) ends
      else ends.map(end => if (end == null || end.isKnown) end else Position(unknown, null))
    copy(
      low = low.orElse(high.map(opposite(_, Long.MinValue))),
      high = high.orElse(low.map(opposite(_, Long.MaxValue))))
  }

  /** Whether a row has positions. */
  def isKnown(row: Int): Boolean = (low ++ high).forall(_(row) != null)

  /** Some of the rows. */
  def of(rows: Seq[Int]): SideSample = {
    def positions(bound: Option[Array[Position]]) = bound.map(all => rows.map(all(_)).toArray)
    SideSample(positions(low), positions(high), rows.map(weight(_)).toArray)
  }

  private lazy val rowsByKey: Map[Int, Seq[Int]] = keys.indices.groupBy(keys(_))

  /** The rows of a key. */
  def ofKey(key: Int): SideSample = of(rowsByKey.getOrElse(key, Nil))
}

object SideSample {

  /**
   * Rows of the columns of a side.
   *
   * @param bounds where they are; a row one of whose bounds is NULL has no position
   */
  def of(
      rows: Array[_ <: InternalRow],
      weight: Array[Double],
      bounds: BoundColumns,
      others: Double = 0,
      keys: Array[Int] = Array.empty): SideSample = {
    def positions(at: Int): Array[Position] =
      rows.map(row => if (bounds.hasNull(row)) null else bounds.position(row, at))
    SideSample(bounds.low.map(positions), bounds.high.map(positions), weight, others, keys)
  }
}
