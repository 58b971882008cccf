// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, DeclarativeAggregate, Sum}

/**
 * Two columns of a buffer: a sum of decimals, or of `try_sum`, which is NULL once it has overflowed; and
 * whether there is nothing that was added, or how many rows were.
 */
final case class SumColumns(sum: Int, added: Int, countsRows: Boolean) {

  def haveOverflowed(buffer: InternalRow): Boolean = buffer.isNullAt(sum) &&
    (if (countsRows) buffer.getLong(added) > 0L else !buffer.getBoolean(added))
}

object SumColumns {

  /** The sums of functions whose columns follow one another. */
  def of(functions: Seq[DeclarativeAggregate]): Seq[SumColumns] = {
    val firsts = functions.scanLeft(0)(_ + _.aggBufferAttributes.size)
    functions.zip(firsts).collect {
      case (sum: Sum, first) if sum.aggBufferAttributes.size == 2 =>
        SumColumns(first, first + 1, countsRows = false)
      case (average: Average, first) if average.aggBufferAttributes.size == 2 =>
        SumColumns(first, first + 1, countsRows = true)
    }
  }
}
