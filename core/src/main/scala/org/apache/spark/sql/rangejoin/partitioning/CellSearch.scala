// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.rangejoin.index.BoundPlaces
import org.apache.spark.sql.rangejoin.kernel.OrderedLong
import org.apache.spark.sql.types.DataType

/**
 * Divides the order of a type into cells: the cell of a position is the number of boundaries at or before it,
 * so that it never falls as the position rises, whatever the boundaries are.
 *
 * @param boundaries rising, each different from the one before
 */
final class CellSearch(val dataType: DataType, boundaries: Array[Position]) extends Serializable {
  private val longs: Array[Long] = boundaries.map(_.long)
  private val values: Array[Any] =
    if (OrderedLong.isLossless(dataType)) null else boundaries.map(_.value)
  @transient private lazy val ordering: Ordering[Any] = TypeUtils.getInterpretedOrdering(dataType)

  /** By the leading bits of a long, which few boundaries are left to search; made anew in each task. */
  @transient private lazy val near: BoundPlaces =
    BoundPlaces(
      longs,
      0,
      longs.length,
      CellSearch.LeastBoundaries,
      CellSearch.finerBits(longs.length))

  /** The number of cells. */
  val size: Int = longs.length + 1

  /**
   * The cell of a bound: the first boundary after it.
   *
   * @param long the bound, an extreme where it is unknown
   * @param value where the long is a prefix, the value, unless it is unknown; else null
   */
  def cell(long: Long, value: Any): Int = {
    var low = 0
    var high = longs.length
    if (near != null) {
      low = near.first(long)
      high = near.last(long, high)
    }
    while (low < high) {
      val middle = (low + high) >>> 1
      if (isAfter(middle, long, value)) high = middle else low = middle + 1
    }
    low
  }

  /** The cell of a bound, found faster if it is `cell`, that of another bound. */
  def cellNear(cell: Int, long: Long, value: Any): Int = {
    val isBefore = cell < longs.length && !isAfter(cell, long, value)
    val isBehind = cell > 0 && isAfter(cell - 1, long, value)
    if (isBefore || isBehind) this.cell(long, value) else cell
  }

  /**
   * Whether a bound is near the boundary in the middle. Two that are differ by less than `greatest`, also if one of
   * them is off by two.
   */
  def isCentral(long: Long, greatest: Long): Boolean = longs.isEmpty || {
    val middle = longs(longs.length / 2)
    val most = greatest / 2 - 2
    val difference = long - middle
    ((long ^ middle) & (long ^ difference)) >= 0 && difference >= -most && difference <= most
  }

  /** Of floating-point numbers: how far boundaries are from 0 at most; 1 where there are none but 0. */
  @transient lazy val greatestNumber: Double = {
    val numbers = longs.map(long => math.abs(OrderedLong.toDouble(long)))
      .filter(number => number > 0 && number < Double.PositiveInfinity)
    if (numbers.isEmpty) 1.0 else numbers.max
  }

  /** Whether a boundary is after a bound. None is at a bound that is unknown, where there are values. */
  private def isAfter(boundary: Int, long: Long, value: Any): Boolean =
    longs(boundary) > long ||
      longs(boundary) == long && values != null && ordering.gt(values(boundary), value)

  def cell(position: Position): Int = cell(position.long, position.value)
}

private[rangejoin] object CellSearch {

  /** From this number of boundaries on, a lookup table beats binary search. */
  private val LeastBoundaries = 8

  /**
   * Bits that make the lookup table finer, so that mostly no boundary or one is left to search; 0
   * where the finer table would not stay in a processor's own cache.
   */
  private def finerBits(boundaries: Int): Int = if (boundaries < 4096) 3 else 0
}

/**
 * A place in the order of a type: the long of a [[org.apache.spark.sql.rangejoin.kernel.RangeBound]] and,
 * where that is a prefix, the value. The extremes of LONG stand for bounds that are unknown.
 */
case class Position(long: Long, value: Any) {
  def isKnown: Boolean = long != Long.MinValue && long != Long.MaxValue
}

object Position {

  /** The order of positions: by their longs and, where these are prefixes, by the values. */
  def ordering(dataType: DataType): Ordering[Position] =
    if (OrderedLong.isLossless(dataType)) (a, b) => java.lang.Long.compare(a.long, b.long)
    else {
      val values = TypeUtils.getInterpretedOrdering(dataType)
      (a, b) => {
        val byPrefix = java.lang.Long.compare(a.long, b.long)
        if (byPrefix != 0 || !a.isKnown) byPrefix else values.compare(a.value, b.value)
      }
    }
}
