// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.catalyst.expressions.SortOrder
import org.apache.spark.sql.rangejoin.sort.{PrefixSorter, SortColumns}

/**
 * The orders in which both sides are scanned where they are sorted, each bound to its rows.
 *
 * @param level of the sorters, see [[PrefixSorter]]
 */
case class SideSorting(
    streamedOrder: Seq[SortOrder],
    streamedFields: Int,
    buildOrder: Seq[SortOrder],
    buildFields: Int,
    level: Int
) {
  def streamed(): PrefixSorter = sorter(streamedOrder, streamedFields)

  def build(): PrefixSorter = sorter(buildOrder, buildFields)

  private def sorter(order: Seq[SortOrder], fields: Int) =
    new PrefixSorter(new SortColumns(order, fields), level)
}
