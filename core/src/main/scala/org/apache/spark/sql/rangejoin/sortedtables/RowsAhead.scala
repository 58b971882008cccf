// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * Reads some rows of a source at a time, for a merge, and keeps copies of them with the longs of their
 * keys. A merge takes a row here and a row there: it would leave a reader after each row for another
 * one, whose columns and state the processor no longer has at hand.
 *
 * Takes some 20 KB of heap, which are not accounted for, or as much as the longest row.
 *
 * Invariant: the current row is number `rowIndex` of `count`, and its bytes end at `ends(rowIndex)`.
 */
private[sortedtables] final class RowsAhead(source: SortedSource) {
  import RowsAhead._

  /** The current row: after the first `advance`, until the next. */
  var row: UnsafeRow = _

  /** The longs of the key of the current row; `NoRow` after the last one. */
  var first, second = 0L

  /** Whether all rows have been read. */
  var isDone = false

  private[this] val firsts, seconds = new Array[Long](MostRows)
  private[this] val ends = new Array[Int](MostRows)
  private[this] var bytes = new Array[Byte](0)
  private[this] var rowIndex, count = 0

  /** Goes on to the next row, if there is one. */
  def advance(): Unit = {
    rowIndex += 1
    if (rowIndex >= count) read()
    if (isDone) {
      first = NoRow
      second = NoRow
    } else {
      first = firsts(rowIndex)
      second = seconds(rowIndex)
      val begin = if (rowIndex == 0) 0 else ends(rowIndex - 1)
      row.pointTo(bytes, Platform.BYTE_ARRAY_OFFSET + begin, ends(rowIndex) - begin)
    }
  }

  /** How many rows that are at hand, after the current one, have a key of lesser longs. */
  def countBefore(first: Long, second: Long): Int = {
    var (low, high) = (rowIndex + 1, count)
    while (low < high) {
      val middle = (low + high) >>> 1
      val f = firsts(middle)
      if (f < first || (f == first && seconds(middle) < second)) low = middle + 1
      else high = middle
    }
    low - rowIndex - 1
  }

  /** Reads the next rows, in place of the present ones. */
  private[this] def read(): Unit = {
    rowIndex = 0
    count = 0
    var used = 0
    while (count < MostRows && used < MostBytes && source.hasNext) {
      val next = source.next()
      val end = used + next.getSizeInBytes
      if (end > bytes.length) bytes = Arrays.copyOf(bytes, math.max(end, 2 * bytes.length))
      next.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + used)
      used = end
      firsts(count) = source.key.first
      seconds(count) = source.key.second
      ends(count) = end
      count += 1
      if (row == null) row = new UnsafeRow(next.numFields)
    }
    isDone = count == 0
  }
}

private[sortedtables] object RowsAhead {
  private final val MostRows = 256
  private final val MostBytes = 16 << 10

  /** No row has a greater long. */
  final val NoRow = Long.MaxValue
}
