// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.util.TypeUtils
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
