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

import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.rangejoin.index.BoundPlaces
import org.apache.spark.sql.rangejoin.kernel.OrderedLong
import org.apache.spark.sql.types.DataType

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

/**
 * Cuts the order of a type into cells: the cell of a position is the number of cuts at or before it, so
 * that it never falls as the position rises, whatever the cuts are.
 *
 * @param cuts rising, each different from the one before
 */
final class CellSearch(val dataType: DataType, cuts: Array[Position]) extends Serializable {
  private val longs: Array[Long] = cuts.map(_.long)
  private val values: Array[Any] =
    if (OrderedLong.isLossless(dataType)) null else cuts.map(_.value)
  @transient private lazy val ordering: Ordering[Any] = TypeUtils.getInterpretedOrdering(dataType)

  /** By the leading bits of a long, which few cuts are left to search; made anew in each task. */
  @transient private lazy val near: BoundPlaces =
    BoundPlaces(longs, 0, longs.length, CellSearch.LeastCuts, CellSearch.finerBits(longs.length))

  /** The number of cells. */
  val size: Int = longs.length + 1

  /** The cell of a value of a lossless type, or of an unknown bound. */
  def cell(long: Long): Int = {
    var low = 0
    var high = longs.length
    if (near != null) {
      low = near.first(long)
      high = near.last(long, high)
    }
    // The first cut after the position.
    while (low < high) {
      val middle = (low + high) >>> 1
      if (longs(middle) > long) high = middle else low = middle + 1
    }
    low
  }

  /** Likewise, where it is likely to be the same as that of another value. */
  def cellNear(cell: Int, long: Long): Int = {
    val isBefore = cell < longs.length && longs(cell) <= long
    val isBehind = cell > 0 && longs(cell - 1) > long
    if (isBefore || isBehind) this.cell(long) else cell
  }

  /** The cell of a value of another type; its prefix is an extreme where the bound is unknown. */
  def cell(prefix: Long, value: Any): Int =
    if (prefix == Long.MinValue) 0
    else if (prefix == Long.MaxValue) size - 1
    else {
      var low = 0
      var high = longs.length
      if (near != null) {
        low = near.first(prefix)
        high = near.last(prefix, high)
      }
      while (low < high) {
        val middle = (low + high) >>> 1
        val isAfter = longs(middle) > prefix ||
          longs(middle) == prefix && ordering.gt(values(middle), value)
        if (isAfter) high = middle else low = middle + 1
      }
      low
    }

  def cell(position: Position): Int =
    if (values == null) cell(position.long) else cell(position.long, position.value)
}

private object CellSearch {

  /** Steps of a search take longer than looking up where the few cuts are that are left of so many. */
  private val LeastCuts = 8

  /** So many that mostly no cut or one is left, as long as the places stay in a processor's own cache. */
  private def finerBits(cuts: Int): Int = if (cuts < 4096) 3 else 0
}
