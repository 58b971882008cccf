// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.util.TypeUtils

/** The kernel that evaluates its expressions row by row; the twin of the generated one. */
final class InterpretedRangeJoinKernel(spec: KernelSpec) extends RangeJoinKernel {
  // Keys, and behind them the bounds.
  private[this] val ofStreamed = valuesOf(spec.streamedKeys, spec.lower, spec.upper)
  private[this] val ofBuffered = valuesOf(spec.bufferedKeys, spec.sortBound, spec.evictBound)
  private[this] val orderings =
    spec.streamedKeys.map(key => TypeUtils.getInterpretedOrdering(key.dataType)).toArray
  private[this] val keys = orderings.length

  private[this] val streamed = new Array[Any](keys + 2)
  private[this] val buffered = new Array[Any](keys + 2)
  private[this] val groupKey = new Array[Any](keys)

  private def valuesOf(keys: Seq[Expression], bounds: Option[Expression]*): Array[Expression] =
    (keys ++ bounds.map(_.getOrElse(Literal(0L)))).toArray

  override def loadStreamed(row: InternalRow): Boolean = load(ofStreamed, row, streamed) && {
    lower = streamed(keys).asInstanceOf[Long]
    upper = streamed(keys + 1).asInstanceOf[Long]
    true
  }

  override def loadBuffered(row: InternalRow): Boolean = load(ofBuffered, row, buffered) && {
    sortBound = buffered(keys).asInstanceOf[Long]
    evictBound = buffered(keys + 1).asInstanceOf[Long]
    true
  }

  private def load(values: Array[Expression], row: InternalRow, into: Array[Any]): Boolean = {
    var i = 0
    var complete = true
    while (complete && i < values.length) {
      into(i) = values(i).eval(row)
      complete = into(i) != null
      i += 1
    }
    complete
  }

  override def compareStreamedWithBuffered(): Int = compare(streamed, buffered)

  override def openGroup(): Unit = {
    var i = 0
    while (i < keys) {
      groupKey(i) = InternalRow.copyValue(streamed(i))
      i += 1
    }
  }

  override def streamedInGroup(): Boolean = compare(streamed, groupKey) == 0

  override def bufferedInGroup(): Boolean = compare(buffered, groupKey) == 0

  private def compare(a: Array[Any], b: Array[Any]): Int = {
    var i = 0
    var result = 0
    while (result == 0 && i < keys) {
      result = orderings(i).compare(a(i), b(i))
      i += 1
    }
    result
  }
}
