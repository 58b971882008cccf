// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}
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

/**
 * Memory of the task for what can be made again, taken in larger pieces than are requested. Asking for more may make
 * another consumer spill. So after a shortage it asks for no more than it then had (half of that if it had to give it
 * up), until 4,096 requests have met the limit, which then doubles, to 1 MiB at least.
 *
 * @param forget releases what can be made again, at the request of another consumer of the thread that uses it
 */
private[aggregate] final class BufferMemory(tasks: TaskMemoryManager, forget: () => Unit) {
  import BufferMemory._

  @volatile private[this] var user = Thread.currentThread
  private[this] var free = 0L
  private[this] var most = Long.MaxValue
  private[this] var refusals = 0
  private[this] val consumer =
    new MemoryConsumer(tasks, MemoryMode.ON_HEAP) {
      override def spill(size: Long, trigger: MemoryConsumer): Long =
        if (trigger.eq(this) || Thread.currentThread.ne(user)) 0L
        else {
          val held = getUsed
          forget()
          giveBack()
          most = held / 2
          held - getUsed
        }
    }

  /** Declares that this thread uses what the memory is for. */
  def use(): Unit = {
    val current = Thread.currentThread
    if (user.ne(current)) user = current
  }

  /** Takes memory; false where there is none. */
  def take(bytes: Long): Boolean = {
    if (free < bytes && mayAsk) {
      val wanted = math.max(Piece, bytes)
      val got = consumer.acquireMemory(wanted)
      free += got
      if (got < wanted) most = consumer.getUsed
    }
    takeReleased(bytes)
  }

  private def mayAsk: Boolean = {
    if (consumer.getUsed >= most) {
      refusals += 1
      if (refusals == MostRefusals) {
        refusals = 0
        most = math.max(Much, 2 * most)
      }
    }
    consumer.getUsed < most
  }

  /** Takes memory of what was released; false where that is too little. */
  def takeReleased(bytes: Long): Boolean = {
    val taken = free >= bytes
    if (taken) free -= bytes
    taken
  }

  /** Makes memory available to the next `take`. */
  def release(bytes: Long): Unit = free += bytes

  /** Takes memory that is not given back before the end; false where there is none. */
  def pin(bytes: Long): Boolean = {
    val got = consumer.acquireMemory(bytes)
    val taken = got >= bytes
    if (!taken) consumer.freeMemory(got)
    taken
  }

  /** Gives back what was released, if it is much. */
  def giveBackMuch(): Unit = if (free > Much) giveBack()

  private def giveBack(): Unit = {
    val released = free
    free = 0L
    consumer.freeMemory(released)
  }

  def close(): Unit = {
    free = 0L
    consumer.freeMemory(consumer.getUsed)
  }
}

private object BufferMemory {
  private final val Piece = 64L << 10

  private final val Much = 1L << 20
  private final val MostRefusals = 1 << 12
}
