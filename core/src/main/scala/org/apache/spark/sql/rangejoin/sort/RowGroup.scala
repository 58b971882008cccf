// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.rangejoin.kernel.{LongColumn, OrderedLong, OrderedValue}
import org.apache.spark.unsafe.Platform

/**
 * A few rows, such as the rows of one key, which it puts in order on demand. The memory is used again for the next
 * group.
 *
 * Rows are copied one behind the other, and each has an entry of two longs: where it is, and its first sort column as
 * an [[OrderedLong]], which is evaluated when they are sorted and not before. So a row that is alone costs its copy.
 * The sort moves entries only, and compares rows only where their longs do not decide.
 *
 * Invariant: the bytes of row `i` of `size` begin where entry `i` says, and do not move until the next `add` or
 * `clear`; `first` is the row that was added first, whatever the order.
 *
 * Takes up to 1.5 MiB of heap, for [[RowGroup.MaxRows]] rows or [[RowGroup.MaxBytes]] bytes, and 0.7 MiB more where
 * longs do not decide; it is not accounted for. If the first row is longer, it takes its own length, and gives it back
 * with the group.
 *
 * @param columns what the rows are sorted by
 */
private[sort] final class RowGroup(columns: SortColumns) {
  import RowGroup._
  import columns.{numFields, order, ordering}

  // The first sort column where it can be read from the row; null where it has to be computed.
  private val column = LongColumn.unapply(order.head.child).orNull
  private lazy val longOf = UnsafeProjection.create(Seq(OrderedValue(order.head.child)))
  private val decides = order.size == 1 && OrderedLong.isLossless(order.head.dataType)

  private var bytes = new Array[Byte](InitialBytes)
  private var used = 0
  private var rows = 0
  private val head = new UnsafeRow(numFields)
  private val current = new UnsafeRow(numFields)
  private val entries = new LongEntries(InitialRows)
  private var tied = Array.empty[UnsafeRow]

  def size: Int = rows

  /** Bytes of heap. */
  def memory: Long = bytes.length + entries.memory

  /** The row that was added first; it and the bytes that it points to are valid until `clear`. */
  def first: UnsafeRow = head

  /** A row; valid until the next one is requested. */
  def row(i: Int): UnsafeRow = if (rows == 1) head else pointTo(current, entries.value(i))

  def clear(): Unit = {
    rows = 0
    used = 0
    if (bytes.length > MaxBytes) bytes = new Array[Byte](InitialBytes)
  }

  /** Forgets the rows and gives the memory back. Rows handed out stay as they are. */
  def release(): Unit = {
    rows = 0
    used = 0
    bytes = Array.emptyByteArray
    tied = Array.empty
    entries.release()
  }

  /** Adds a copy of a row if there is room for it; returns whether it did. */
  def add(row: UnsafeRow): Boolean = {
    val length = row.getSizeInBytes
    if (length > bytes.length - used && !expand(length)) return false
    if (rows == MaxRows) return false
    copy(row, length)
    val location = used.toLong << 32 | length
    entries.set(rows, location)
    if (rows == 0) pointTo(head, location)
    rows += 1
    used += length
    true
  }

  private def copy(row: UnsafeRow, length: Int): Unit = row.getBaseObject match {
    // Most rows are short, and this is the fastest way to copy them.
    case source: Array[Byte] =>
      val from = (row.getBaseOffset - Platform.BYTE_ARRAY_OFFSET).toInt
      System.arraycopy(source, from, bytes, used, length)
    case _ => row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + used)
  }

  /** Makes room for a row of this length, if the bounds allow it or the row is the first. */
  private def expand(length: Int): Boolean = {
    val needed = used.toLong + length
    val hasRoom = rows == 0 || needed <= MaxBytes
    if (hasRoom) {
      val doubled = math.min(MaxBytes.toLong, bytes.length * 2L)
      bytes = Arrays.copyOf(bytes, math.max(needed, doubled).toInt)
      if (rows > 0) pointTo(head, head.getBaseOffset, head.getSizeInBytes)
    }
    hasRoom
  }

  /** Puts the rows in order. */
  def sort(): Unit = if (rows > 1) {
    var i = 0
    while (i < rows) {
      entries.setKey(i, keyOf(row(i)))
      i += 1
    }
    entries.sort(rows)
    sortTies()
  }

  private def keyOf(row: UnsafeRow): Long =
    if (column != null) {
      if (row.isNullAt(column.ordinal)) NullKey else column.of(row)
    } else {
      val long = longOf(row)
      if (long.isNullAt(0)) NullKey else long.getLong(0)
    }

  /** Puts rows of equal longs in order. */
  private def sortTies(): Unit = {
    var begin = 0
    while (begin < rows) {
      val key = entries.key(begin)
      var end = begin + 1
      while (end < rows && entries.key(end) == key) end += 1
      // NULL has the smallest long as well.
      if (end > begin + 1 && (!decides || key == NullKey)) compareRows(begin, end)
      begin = end
    }
  }

  private def compareRows(begin: Int, end: Int): Unit = {
    val count = end - begin
    if (tied.length < count) {
      val more =
        Array.fill(math.max(count, 2 * tied.length) - tied.length)(new UnsafeRow(numFields))
      tied ++= more
    }
    for (i <- 0 until count) pointTo(tied(i), entries.value(begin + i))
    Arrays.sort[UnsafeRow](tied, 0, count, ordering)
    for (i <- 0 until count) {
      val row = tied(i)
      val offset = row.getBaseOffset - Platform.BYTE_ARRAY_OFFSET
      entries.set(begin + i, offset << 32 | row.getSizeInBytes)
    }
  }

  private def pointTo(row: UnsafeRow, location: Long): UnsafeRow =
    pointTo(row, Platform.BYTE_ARRAY_OFFSET + (location >>> 32), location.toInt)

  private def pointTo(row: UnsafeRow, offset: Long, length: Int): UnsafeRow = {
    row.pointTo(bytes, offset, length)
    row
  }
}

private[sort] object RowGroup {

  /** More rows than this, or more bytes, are for a sorter that spills. */
  val MaxRows: Int = 1 << 14
  val MaxBytes: Int = 1 << 20

  private final val InitialRows = 64
  private final val InitialBytes = 1 << 12

  private final val NullKey = Long.MinValue
}
