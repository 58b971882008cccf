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

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.rangejoin.condition.Rounding
import org.apache.spark.sql.rangejoin.kernel.OrderedLong

/**
 * Of a range that has no end, where the nearest rows are wanted: each row of the owner matches all rows of the other
 * side. It lies in one cell, and so do those that are near it. The nearest beyond it are known in any other cell
 * ([[BestCopies]]), unless distances from the row might wrap around or raise, or are rounded too much: then all rows
 * have to be looked at.
 *
 * @param greatest beyond it distances wrap around, or raise; None where they never do
 * @param rounding how distances are rounded, where rows that are as far by that are wanted, too; else None
 */
case class AnyDistance(greatest: Option[Long], rounding: Option[Rounding] = None) {

  /** Whether the rows that are nearest to a point are known, by its bound. */
  def hasKnownNearest(cells: CellSearch, point: Long): Boolean =
    greatest.forall(cells.isCentral(point, _)) &&
      rounding.forall(r => math.abs(OrderedLong.toDouble(point)) <= AnyDistance.farthest(cells, r))
}

object AnyDistance {

  /**
   * How far a point may be from 0, of distances that are rounded. From there they are rounded to some billionth part
   * of the greatest boundary, of FLOAT some hundred thousandth part: few rows are as near to each other.
   */
  def farthest(cells: CellSearch, rounding: Rounding): Double =
    cells.greatestNumber * (if (rounding.single) 1 << 4 else 1 << 20)
}
