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

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.expressions.Expression

/**
 * The expressions of a kernel, each bound to the row of its side. Keys of the two sides stand in
 * pairs of one type; a bound is of type LONG, usually a [[RangeBound]]. A test that is absent from
 * the join condition has no bounds: it holds for every pair, and both of its bounds are zero.
 *
 * @param lower least evict bound that matches a streamed row
 * @param upper greatest sort bound that matches a streamed row
 * @param sortBound the bound a buffered row is sorted by
 * @param evictBound the bound that lets a buffered row leave the window
 */
case class KernelSpec(
    streamedKeys: Seq[Expression],
    bufferedKeys: Seq[Expression],
    lower: Option[Expression],
    upper: Option[Expression],
    sortBound: Option[Expression],
    evictBound: Option[Expression]
) {
  require(streamedKeys.size == bufferedKeys.size, "keys of the two sides come in pairs")
  require(lower.isDefined == evictBound.isDefined, "the lower test has a bound on both sides")
  require(upper.isDefined == sortBound.isDefined, "the upper test has a bound on both sides")
}
