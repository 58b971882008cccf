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
