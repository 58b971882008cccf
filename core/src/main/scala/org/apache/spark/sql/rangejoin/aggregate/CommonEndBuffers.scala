// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Buffers of the rows between the begin of a block of 16 rows and an end that many runs have in common. If each run
 * extends the one before, the last buffer is enough; else one is kept for each block.
 */
private[aggregate] final class CommonEndBuffers(memory: BufferMemory) {
  private[this] val kept = new BlockBuffers(memory, isCounted = true)
  // The common end that the buffer of a block reaches to.
  private[this] var ends = Array.emptyIntArray
  private[this] var last: UnsafeRow = _
  private[this] var lastBlock = 0
  private[this] var lastEnd = 0
  // Whether some run did not extend the run before it; from then on a buffer is kept for each block.
  private[this] var keepsEach = false

  /** The buffer that was put, or moved to, last; null before that. */
  def current: UnsafeRow = last

  def currentBlock: Int = lastBlock

  /** Makes the buffer between a block and an end the current one; false where there is none. */
  def moveTo(block: Int, end: Int): Boolean = {
    val isCurrent = last != null && lastBlock == block && lastEnd == end
    val found = if (isCurrent) null else kept.get(block)
    val isFound = found != null && ends(block) == end
    if (isFound) setCurrent(block, end, found)
    isCurrent || isFound
  }

  /** The current buffer, if it can be extended to reach this block; else null. */
  def before(block: Int, end: Int): UnsafeRow = if (isBefore(block, end)) last else null

  private def isBefore(block: Int, end: Int): Boolean =
    last != null && lastEnd == end && lastBlock < block

  /** Makes a buffer the current one, and keeps it where it may be asked for again. */
  def put(block: Int, end: Int, buffer: UnsafeRow): Unit = {
    if (last != null && !isBefore(block, end)) keepsEach = true
    if (keepsEach && kept.put(block, buffer, 0)) {
      if (block >= ends.length) ends = java.util.Arrays.copyOf(ends, (block + 8) * 2)
      ends(block) = end
    }
    setCurrent(block, end, buffer)
  }

  private def setCurrent(block: Int, end: Int, buffer: UnsafeRow): Unit = {
    last = buffer
    lastBlock = block
    lastEnd = end
  }

  /** Forgets all but the current one. */
  def forgetKept(): Unit = kept.clear()

  def clear(): Unit = {
    kept.clear()
    last = null
    keepsEach = false
  }
}
