// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Buffers by the number of a block.
 *
 * @param isCounted whether they are kept only as far as there is memory for them; if not, they are too few to account
 *   for
 */
private[aggregate] final class BlockBuffers(memory: BufferMemory, val isCounted: Boolean) {
  import BlockBuffers._

  private[this] var buffers: Array[UnsafeRow] = _
  // The block of the first slot.
  private[this] var base = 0
  // Before this slot there is none.
  private[this] var firstKept = 0
  private[this] var bytesTaken = 0L

  /** Null where there is none. */
  def get(block: Int): UnsafeRow = {
    val slot = block - base
    val kept = buffers
    if (kept != null && slot >= 0 && slot < kept.length) kept(slot) else null
  }

  /**
   * Keeps a buffer.
   *
   * @param oldest blocks before this one are of no more interest
   * @return false where there is no memory for it
   */
  def put(block: Int, buffer: UnsafeRow, oldest: Int): Boolean = {
    // Taking memory may clear what is kept.
    val hasRoom = !isCounted || memory.take(bytesOf(buffer)) || {
      releaseBefore(oldest)
      memory.takeReleased(bytesOf(buffer))
    }
    if (hasRoom) {
      if (buffers == null) {
        base = math.min(oldest, block)
        buffers = new Array[UnsafeRow](math.max(Least, (block - base + 1) * 2))
      } else if (block < base || block - base >= buffers.length) move(block, oldest)
      val slot = block - base
      release(buffers(slot))
      buffers(slot) = buffer
      if (slot < firstKept) firstKept = slot
      if (isCounted) bytesTaken += bytesOf(buffer)
    }
    hasRoom
  }

  /** Makes room for a block, and drops those that are of no more interest. */
  private def move(block: Int, oldest: Int): Unit = {
    val begin = math.min(block, math.max(base, oldest))
    val end = math.max(block + 1, if (block < base) base + buffers.length else block + 1)
    val moved = new Array[UnsafeRow](math.max(Least, (end - begin) * 2))
    releaseBefore(begin)
    firstKept = 0
    val from = math.max(begin, base)
    val until = math.min(base + buffers.length, begin + moved.length)
    if (from < until)
      System.arraycopy(buffers, from - base, moved, from - begin, until - from)
    buffers = moved
    base = begin
  }

  private def releaseBefore(block: Int): Unit = if (buffers != null) {
    val end = math.min(block - base, buffers.length)
    while (firstKept < end) {
      release(buffers(firstKept))
      buffers(firstKept) = null
      firstKept += 1
    }
  }

  private def release(buffer: UnsafeRow): Unit = if (isCounted && buffer != null) {
    bytesTaken -= bytesOf(buffer)
    memory.release(bytesOf(buffer))
  }

  private def bytesOf(buffer: UnsafeRow): Long = BytesBeside + buffer.getSizeInBytes

  def clear(): Unit = {
    memory.release(bytesTaken)
    bytesTaken = 0L
    buffers = null
    base = 0
    firstKept = 0
  }
}

private object BlockBuffers {
  private final val Least = 16

  /** Bytes of the object and the array of a row, and of its slot. */
  private final val BytesBeside = 80L
}
