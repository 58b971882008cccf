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
