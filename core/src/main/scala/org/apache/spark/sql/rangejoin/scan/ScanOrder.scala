// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, Expression, SortOrder}
import org.apache.spark.sql.rangejoin.condition.MonotoneColumn
import org.apache.spark.sql.rangejoin.kernel.RangeBound

/** The order in which the sides of a scan come. */
object ScanOrder {

  /**
   * The order by the keys of a side, then by its bound, if it has one.
   *
   * @param rangeKey the column that holds the bound, where there is one
   */
  def of(
      keys: Seq[Expression],
      bound: Option[RangeBound],
      rangeKey: Option[Attribute] = None
  ): Seq[SortOrder] = {
    val within = rangeKey.orElse(bound.map(b => MonotoneColumn.of(b).getOrElse(b.sortKey)))
    (keys ++ within).map(SortOrder(_, Ascending))
  }
}
