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

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.sql.catalyst.expressions._

/**
 * The rows of a partition in order, which are not read before the first one of them is asked for: a
 * join that finds its other side empty does not sort this one. Whether there are any is known before.
 */
private[rangejoin] final class SortedOnDemand(rows: Iterator[UnsafeRow], sorter: PrefixSorter)
    extends Iterator[UnsafeRow] {
  private var sorted: Iterator[UnsafeRow] = _

  override def hasNext: Boolean =
    if (sorted != null) sorted.hasNext else !sorter.isReleased && rows.hasNext

  override def next(): UnsafeRow = {
    if (sorted == null) {
      rows.foreach(sorter.insert)
      sorted = sorter.sorted()
    }
    sorted.next()
  }
}
