// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.memory.{MemoryConsumer, TaskMemoryManager}
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock

/**
 * The memory of one window, accounted to the task. Every page and every array of the window comes
 * from here, so that Spark sees what the operator holds, refuses what it cannot have, and asks for
 * it where another consumer of the task is in need: in any thread, see [[WindowOwner]].
 *
 * @param maker the task's own thread, if it makes the window; else null
 */
final class WindowMemory(memory: TaskMemoryManager, maker: Thread = Thread.currentThread)
    extends MemoryConsumer(memory, WindowMemory.SmallestPage, memory.getTungstenMemoryMode) {

  private[window] val owner = new WindowOwner(maker)
  private[this] var peak = 0L
  private[this] var giveBack: () => Long = () => 0L
  // A request that comes while the window itself asks would find it with its work half done.
  private[this] var isAsking = false

  /** Greatest number of bytes held at a time. */
  def peakBytes: Long = peak

  /** Number of bytes held. */
  def bytesInUse: Long = getUsed

  /** Sets what gives memory back at the request of another consumer; it returns the bytes it gave. */
  def onRequest(giveBack: () => Long): Unit =
    this.giveBack = () => if (isAsking) 0L else giveBack()

  /** A page of at least `bytes` bytes. */
  def allocate(bytes: Long): MemoryBlock = asking(allocatePage(bytes))

  def free(page: MemoryBlock): Unit = freePage(page)

  override def allocateArray(size: Long): LongArray = asking(super.allocateArray(size))

  private def asking[T](allocate: => T): T = {
    isAsking = true
    val result =
      try allocate
      finally isAsking = false
    peak = math.max(peak, getUsed)
    result
  }

  override def spill(size: Long, trigger: MemoryConsumer): Long =
    if (trigger eq this) 0L else owner.serve(giveBack)
}

object WindowMemory {

  /** Bytes of the smallest page; a narrow window needs no more than one. */
  val SmallestPage: Long = 64L * 1024
}
