// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.util.TypeUtils

/** The kernel that evaluates its expressions row by row; the twin of the generated one. */
final class InterpretedRangeJoinKernel(spec: KernelSpec) extends RangeJoinKernel {
  private[this] val streamedKeys = spec.streamedKeys.toArray
  private[this] val bufferedKeys = spec.bufferedKeys.toArray
  private[this] val orderings =
    spec.streamedKeys.map(key => TypeUtils.getInterpretedOrdering(key.dataType)).toArray

  private[this] val streamedKey = new Array[Any](orderings.length)
  private[this] val bufferedKey = new Array[Any](orderings.length)
  private[this] val groupKey = new Array[Any](orderings.length)

  private[this] val lowerBound = spec.lower.orNull
  private[this] val upperBound = spec.upper.orNull
  private[this] val sortBoundExpr = spec.sortBound.orNull
  private[this] val evictBoundExpr = spec.evictBound.orNull

  override def loadStreamed(row: InternalRow): Boolean =
    loadKeys(streamedKeys, row, streamedKey) && {
      val low = if (lowerBound == null) 0L else lowerBound.eval(row)
      val high = if (upperBound == null) 0L else upperBound.eval(row)
      if (low == null || high == null) {
        false
      } else {
        lower = low.asInstanceOf[Long]
        upper = high.asInstanceOf[Long]
        true
      }
    }

  override def loadBuffered(row: InternalRow): Boolean =
    loadKeys(bufferedKeys, row, bufferedKey) && {
      val sort = if (sortBoundExpr == null) 0L else sortBoundExpr.eval(row)
      val evict = if (evictBoundExpr == null) 0L else evictBoundExpr.eval(row)
      if (sort == null || evict == null) {
        false
      } else {
        sortBound = sort.asInstanceOf[Long]
        evictBound = evict.asInstanceOf[Long]
        true
      }
    }

  private def loadKeys(keys: Array[Expression], row: InternalRow, into: Array[Any]): Boolean = {
    var i = 0
    var complete = true
    while (complete && i < keys.length) {
      into(i) = keys(i).eval(row)
      complete = into(i) != null
      i += 1
    }
    complete
  }

  override def compareStreamedWithBuffered(): Int = compare(streamedKey, bufferedKey)

  override def openGroup(): Unit = {
    var i = 0
    while (i < groupKey.length) {
      groupKey(i) = InternalRow.copyValue(streamedKey(i))
      i += 1
    }
  }

  override def streamedInGroup(): Boolean = compare(streamedKey, groupKey) == 0

  override def bufferedInGroup(): Boolean = compare(bufferedKey, groupKey) == 0

  private def compare(a: Array[Any], b: Array[Any]): Int = {
    var i = 0
    var result = 0
    while (result == 0 && i < orderings.length) {
      result = orderings(i).compare(a(i), b(i))
      i += 1
    }
    result
  }
}
