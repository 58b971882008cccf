// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

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
