// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/**
 * Rows, one after the other in byte arrays, without an object for each. Immutable.
 *
 * Where all rows have one size a row is found by its number, otherwise by its address: a number of
 * 8-byte words in the lower bits, the number of a chunk in the upper ones. A chunk takes rows up to
 * `8 << wordBits` bytes, or a single one that is longer. A row ends where the next one begins.
 *
 * @param addresses of the rows, and of the end of the last one; null where all have `rowSize`
 * @param wordBits how many of the bits of an address are the number of words
 */
private[index] final class PackedRows private (
    chunks: Array[Array[Byte]],
    addresses: Array[Int],
    rowSize: Int,
    wordBits: Int,
    val size: Int
) extends Serializable {
  import PackedRows._

  private[this] val rowsPerChunk = rowsOfChunk(rowSize, wordBits)

  /** Points `row` at a row. */
  def read(i: Int, row: UnsafeRow): Unit =
    if (addresses == null) {
      if (i < rowsPerChunk) {
        row.pointTo(chunks(0), Platform.BYTE_ARRAY_OFFSET + i.toLong * rowSize, rowSize)
      } else {
        val offset = (i % rowsPerChunk).toLong * rowSize
        row.pointTo(chunks(i / rowsPerChunk), Platform.BYTE_ARRAY_OFFSET + offset, rowSize)
      }
    } else {
      pointInto(row, chunks(addresses(i) >>> wordBits), addresses(i), addresses(i + 1), wordBits)
    }

  def estimatedSize: Long =
    chunks.map(_.length.toLong).sum + (if (addresses == null) 0L else addresses.length * 4L)
}

private[index] object PackedRows {

  /** 255 chunks of 128 MiB. */
  val WordBits = 24
  private val FirstChunkBytes = 64 << 10
  private val LaterChunkBytes = 1 << 20

  /** 32,767 chunks of 1 MiB: rows that come with a limit of memory, or go again one after the other. */
  val SmallWordBits = 17

  /** The greatest array a JVM gives. */
  private val MostElements = Int.MaxValue - 15

  /** The length an array of rows grows to: twice the present one where there is room. */
  private def larger(length: Int): Int = {
    if (length == MostElements) throw new OutOfMemoryError(s"$length rows in a range index")
    math.min(length * 2L, MostElements.toLong).toInt
  }

  private def offsetOf(address: Int, wordBits: Int): Int = (address & ((1 << wordBits) - 1)) << 3

  /** The row from one address to the next, or to the end of the chunk. */
  private def pointInto(
      row: UnsafeRow,
      chunk: Array[Byte],
      address: Int,
      next: Int,
      wordBits: Int
  ): Unit = {
    val offset = offsetOf(address, wordBits)
    val inChunk = next >>> wordBits == address >>> wordBits
    val end = if (inChunk) offsetOf(next, wordBits) else chunk.length
    row.pointTo(chunk, Platform.BYTE_ARRAY_OFFSET + offset.toLong, end - offset)
  }

  private def rowsOfChunk(rowSize: Int, wordBits: Int): Int =
    if (rowSize <= 0) Int.MaxValue else math.max(1, (8 << wordBits) / rowSize)

  val Empty: PackedRows = new PackedRows(Array.empty, null, 0, WordBits, 0)

  /**
   * Takes rows in the order they get their numbers.
   *
   * @param expected how many there will be, where that is known
   * @param expectedBytes likewise of their bytes
   */
  final class Builder(expected: Int, wordBits: Int = WordBits, expectedBytes: Long = 0L) {
    private[this] val chunkBytes = 8 << wordBits
    private[this] val mostChunks = 1 << (32 - wordBits)
    private[this] val closed = mutable.ArrayBuffer.empty[Array[Byte]]
    private[this] var chunk = newChunk(FirstChunkBytes)
    private[this] var used = 0
    // The addresses of the rows, and of the end of the last one.
    private[this] var addresses = new Array[Int](math.max(expected, 16) + 1)
    private[this] var count = 0
    private[this] var rowSize = 0
    private[this] var closedBytes = 0L
    // Kept, so that rows are read for it.
    private[this] var lastTouched = 0L

    private def newChunk(otherwise: Int): Array[Byte] = {
      val left = expectedBytes - closedBytes
      new Array[Byte](math.min(chunkBytes.toLong, if (left > 0L) left else otherwise.toLong).toInt)
    }

    def size: Int = count

    /** Bytes of the arrays there are. */
    def allocatedBytes: Long = closedBytes + chunk.length + addresses.length * 4L

    /** Bytes that the next row makes it allocate at most, those it then gives up included. */
    def bytesToAppend(bytes: Int): Long = {
      val ofRow =
        // A chunk that is full is closed, and another one begun.
        if (used + bytes.toLong <= chunk.length && used + bytes.toLong < chunkBytes) 0L
        else if (closed.size >= mostChunks - 2) Long.MaxValue / 2
        else 2L * math.max(math.min(2L * chunk.length, chunkBytes.toLong), bytes.toLong)
      ofRow + (if (count + 1 < addresses.length) 0L else larger(addresses.length) * 4L)
    }

    /** Bytes that the result allocates. */
    def bytesToFinish: Long = used + (count + 1) * 4L

    /** Bytes of the rows alone. */
    def rowBytes: Long = closedBytes + used

    /**
     * Gives all rows away, in their order; no more can be appended, nor read.
     *
     * @param released is told of the bytes of each array that is given up
     */
    def drain(visit: UnsafeRow => Unit, numFields: Int)(released: Long => Unit): Unit = {
      // As it is: the end of its last row is known, and there may be no memory for a copy.
      closed += chunk
      chunk = Array.emptyByteArray
      val row = new UnsafeRow(numFields)
      var open = 0
      var i = 0
      while (i < count) {
        val number = addresses(i) >>> wordBits
        while (open < number) {
          released(closed(open).length.toLong)
          closed(open) = null
          open += 1
        }
        pointInto(row, closed(number), addresses(i), addresses(i + 1), wordBits)
        visit(row)
        i += 1
      }
      closed.clear()
      addresses = Array.emptyIntArray
    }

    def append(row: UnsafeRow): Unit = {
      val bytes = row.getSizeInBytes
      rowSize = if (count == 0 || rowSize == bytes) bytes else Varying
      if (used > 0 && used.toLong + bytes > chunkBytes) beginChunk()
      reserve(used + bytes)
      setAddress()
      copyWords(
        row.getBaseObject,
        row.getBaseOffset,
        chunk,
        Platform.BYTE_ARRAY_OFFSET + used.toLong,
        bytes)
      used += bytes
      count += 1
      if (used >= chunkBytes) beginChunk()
      setAddress()
    }

    /** Points `row` at a row that was appended, valid until the next is. */
    def read(i: Int, row: UnsafeRow): Unit = {
      pointInto(row, chunkOf(addresses(i)), addresses(i), addresses(i + 1), wordBits)
    }

    private def chunkOf(address: Int): Array[Byte] = {
      val number = address >>> wordBits
      if (number == closed.size) chunk else closed(number)
    }

    /**
     * The rows in another order, which are copied.
     *
     * @param order their numbers
     */
    def inOrder(order: Array[Int]): PackedRows = {
      val ordered = new Builder(order.length, wordBits, rowBytes)
      val row = new UnsafeRow(0)
      var touched = 0L
      var i = 0
      while (i < order.length) {
        if (i % TouchedRows == 0) {
          touched ^= touch(order, i, math.min(i + TouchedRows, order.length))
        }
        read(order(i), row)
        ordered.append(row)
        i += 1
      }
      lastTouched = touched
      ordered.result()
    }

    /**
     * Reads a word of each of some rows before they are copied: rows in no order are not in a cache, and
     * such reads overlap, while copies wait for each other.
     */
    private def touch(order: Array[Int], from: Int, end: Int): Long = {
      var touched = 0L
      var i = from
      while (i < end) {
        val address = addresses(order(i))
        touched ^= Platform.getLong(
          chunkOf(address),
          Platform.BYTE_ARRAY_OFFSET + offsetOf(address, wordBits).toLong)
        i += 1
      }
      touched
    }

    /** All rows; no more can be appended, nor read from here. */
    def result(): PackedRows = {
      closeChunk()
      val varying = if (rowSize == Varying) java.util.Arrays.copyOf(addresses, count + 1) else null
      new PackedRows(closed.toArray, varying, math.max(rowSize, 0), wordBits, count)
    }

    private def setAddress(): Unit = {
      if (count == addresses.length) {
        addresses = java.util.Arrays.copyOf(addresses, larger(count))
      }
      addresses(count) = (closed.size << wordBits) | (used >>> 3)
    }

    private def reserve(needed: Int): Unit =
      if (needed > chunk.length) {
        val doubled = math.min(chunk.length * 2L, chunkBytes.toLong).toInt
        chunk = java.util.Arrays.copyOf(chunk, math.max(doubled, needed))
      }

    private def closeChunk(): Unit = {
      if (closed.size == mostChunks - 1) {
        throw new OutOfMemoryError(
          s"the rows of a range index are more than ${mostChunks - 1} chunks")
      }
      closed += (if (chunk.length == used) chunk else java.util.Arrays.copyOf(chunk, used))
      closedBytes += used
      used = 0
    }

    private def beginChunk(): Unit = {
      closeChunk()
      // Where one chunk was filled there are many rows.
      chunk = newChunk(LaterChunkBytes)
    }
  }

  private val Varying = -2

  /** Up to this size a loop is faster than the call that copies memory. */
  private final val ShortBytes = 256

  /** For how many rows reads may overlap. */
  private final val TouchedRows = 16

  /** Copies a row, whose bytes are a multiple of eight. */
  private def copyWords(
      from: AnyRef,
      fromOffset: Long,
      to: Array[Byte],
      toOffset: Long,
      bytes: Int): Unit =
    if (bytes > ShortBytes) Platform.copyMemory(from, fromOffset, to, toOffset, bytes.toLong)
    else {
      var i = 0
      while (i < bytes) {
        Platform.putLong(to, toOffset + i, Platform.getLong(from, fromOffset + i))
        i += 8
      }
    }
}
