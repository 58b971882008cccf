// SPDX-License-Identifier: Apache-2.0

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
