// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET
import org.apache.spark.unsafe.array.ByteArrayMethods.MAX_ROUNDED_ARRAY_LENGTH

/**
 * Rows with their bounds in one array of bytes, as they go to disk and come back: for each slot the
 * size of its row, its two bounds and its bytes; for a slot without a row the size -1 alone.
 *
 * Takes 256 KiB of heap, and as much as the last row is long; what a long row took is not kept.
 */
private[window] final class RowBlock {
  import RowBlock._

  private[this] var bytes = Array.emptyByteArray
  private[this] var length = 0
  private[this] var offsets = new Array[Int](64)
  private[this] var count = 0

  /** Number of slots. */
  def slots: Int = count

  /** Number of bytes. */
  def size: Int = length

  /** Whether another row would make the block larger than is good to read at once. */
  def isFull(mostRows: Int): Boolean = count >= mostRows || length >= FullBytes

  def sortBound(slot: Int): Long = Platform.getLong(bytes, offset(slot) + 8)

  def evictBound(slot: Int): Long = Platform.getLong(bytes, offset(slot) + 16)

  def read(slot: Int, row: UnsafeRow): Unit = {
    val at = offset(slot)
    row.pointTo(bytes, at + HeaderBytes, Platform.getLong(bytes, at).toInt)
  }

  def append(row: UnsafeRow, sortBound: Long, evictBound: Long): Unit = {
    val rowSize = row.getSizeInBytes
    val at = startSlot(HeaderBytes.toLong + rowSize)
    Platform.putLong(bytes, at, rowSize)
    Platform.putLong(bytes, at + 8, sortBound)
    Platform.putLong(bytes, at + 16, evictBound)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, bytes, at + HeaderBytes, rowSize)
  }

  /** Adds a slot without a row. */
  def appendHole(): Unit = {
    val at = startSlot(8L)
    Platform.putLong(bytes, at, -1L)
  }

  def clear(): Unit = {
    if (bytes.length > KeptBytes) bytes = Array.emptyByteArray
    length = 0
    count = 0
  }

  def writeTo(files: SpillFiles): SpilledBytes = files.write(bytes, length)

  def readFrom(files: SpillFiles, block: SpilledBytes): Unit = {
    clear()
    reserve(block.length)
    files.read(block, bytes)
    while (length < block.length) {
      val rowSize = Platform.getLong(bytes, BYTE_ARRAY_OFFSET + length)
      startSlot(if (rowSize < 0) 8L else HeaderBytes + rowSize)
    }
  }

  private def offset(slot: Int): Long = BYTE_ARRAY_OFFSET + offsets(slot).toLong

  /** Adds a slot of a size; returns where in `bytes`, which may be another array then, it begins. */
  private def startSlot(size: Long): Long = {
    reserve(length + size)
    if (count == offsets.length) offsets = java.util.Arrays.copyOf(offsets, count * 2)
    offsets(count) = length
    count += 1
    val at = BYTE_ARRAY_OFFSET + length.toLong
    length += size.toInt
    at
  }

  private def reserve(size: Long): Unit = if (bytes.length < size) {
    if (size > MAX_ROUNDED_ARRAY_LENGTH) throw new IllegalStateException(
      s"a row of $size bytes is too large to be spilled by a range join")
    val larger = math.max(size, math.min(bytes.length * 2L, FullBytes))
    bytes = java.util.Arrays.copyOf(bytes, larger.toInt)
  }
}

private[window] object RowBlock {
  private val HeaderBytes = 24
  private val FullBytes = 256 * 1024

  /** Bytes of an array that is used again. */
  private[window] val KeptBytes = 2 * FullBytes
}

/** The two blocks of rows on disk that were requested last, in memory. */
private[window] final class LoadedBlocks(files: SpillFiles) {
  private[this] var last = new RowBlock
  private[this] var bytesOfLast: SpilledBytes = _
  private[this] var before = new RowBlock
  private[this] var bytesOfBefore: SpilledBytes = _
  private[this] var blockReads = 0L

  /** Blocks read from disk so far. */
  def reads: Long = blockReads

  /** The rows that were written as these bytes, until those of two other blocks are requested. */
  def apply(bytes: SpilledBytes): RowBlock = {
    if (bytesOfLast ne bytes) {
      swap()
      if (bytesOfLast ne bytes) {
        bytesOfLast = null
        last.readFrom(files, bytes)
        bytesOfLast = bytes
        blockReads += 1
      }
    }
    last
  }

  /** Takes rows that were just written for loaded; returns a block to be filled. */
  def exchange(bytes: SpilledBytes, rows: RowBlock): RowBlock = {
    swap()
    val former = last
    last = rows
    bytesOfLast = bytes
    former
  }

  /** Takes neither block for loaded. */
  def forget(): Unit = {
    bytesOfLast = null
    last.clear()
    bytesOfBefore = null
    before.clear()
  }

  def close(): Unit = {
    forget()
    last = null
    before = null
  }

  private def swap(): Unit = {
    val rows = last
    val bytes = bytesOfLast
    last = before
    bytesOfLast = bytesOfBefore
    before = rows
    bytesOfBefore = bytes
  }
}
