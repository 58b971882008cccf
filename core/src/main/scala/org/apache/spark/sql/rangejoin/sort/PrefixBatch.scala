// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock
import org.apache.spark.util.collection.unsafe.sort.{RadixSort, UnsafeExternalSorter}

/**
 * Gathers rows on their way to a sorter, and hands them on in the order of their prefixes, a batch at a time. The
 * sorter keeps rows in memory as they come. Without batches it reads each row in order from another place, and waits
 * for memory. With batches it reads each batch from front to back: from as many places as there are batches, which stay
 * in the processor's caches.
 *
 * Takes one MiB of heap.
 */
private[sort] final class PrefixBatch {
  import PrefixBatch._

  private val bytes = new Array[Byte](BatchBytes)
  // For each row its address and its prefix, and as much again for the sort.
  private val entries = new LongArray(MemoryBlock.fromLongArray(new Array[Long](BatchRows * 4)))
  private var rows = 0
  private var used = 0
  private var last = 0L
  private var varying = 0L
  private var ordered = true
  private var nanos = 0L

  /** Nanoseconds of sorting. */
  def sortTimeNanos: Long = nanos

  /** Takes a row in if there is room for it; returns whether it did. */
  def add(row: UnsafeRow, prefix: Long): Boolean = {
    val length = row.getSizeInBytes
    val hasRoom = rows < BatchRows && length <= BatchBytes - used
    if (hasRoom) {
      row.writeToMemory(bytes, Platform.BYTE_ARRAY_OFFSET + used)
      entries.set(rows * 2, used.toLong << 32 | length)
      entries.set(rows * 2 + 1, prefix)
      if (rows > 0) {
        varying |= prefix ^ last
        if (prefix + Long.MinValue < last + Long.MinValue) ordered = false
      }
      last = prefix
      rows += 1
      used += length
    }
    hasRoom
  }

  /** Hands all rows on. */
  def moveTo(sorter: UnsafeExternalSorter): Unit = {
    val start = if (ordered) 0 else sorted()
    var i = 0
    while (i < rows) {
      val row = entries.get(start + i * 2)
      sorter.insertRecord(
        bytes,
        Platform.BYTE_ARRAY_OFFSET + (row >>> 32),
        row.toInt,
        entries.get(start + i * 2 + 1),
        false)
      i += 1
    }
    rows = 0
    used = 0
    varying = 0L
    ordered = true
  }

  /** Sorts the entries by the highest bytes of their prefixes; returns where they begin. */
  private def sorted(): Int = {
    val begin = System.nanoTime()
    var firstByte = LastByte
    var bits = 0
    while (firstByte > 0 && (firstByte == LastByte || bits < SortedBits)) {
      bits += java.lang.Long.bitCount(varying >>> (firstByte * 8) & 0xff)
      firstByte -= 1
    }
    val start = RadixSort.sortKeyPrefixArray(entries, 0, rows, firstByte, LastByte, false, false)
    nanos += System.nanoTime() - begin
    start
  }
}

private[sort] object PrefixBatch {

  /** What fits into a processor's own cache, beside the source and the target of the copy. */
  private final val BatchBytes = 1 << 19
  private final val BatchRows = 1 << 14

  /** How many varying bits are enough to tell where a row of a batch belongs. */
  private final val SortedBits = 20
  private final val LastByte = 7
}
