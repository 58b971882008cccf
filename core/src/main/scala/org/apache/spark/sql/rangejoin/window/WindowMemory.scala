// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.memory.{MemoryConsumer, TaskMemoryManager}
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock

/**
 * The memory of one window, accounted to the task. Every page and every array of the window comes
 * from here, so that Spark sees what the operator holds, refuses what it cannot have, and asks for
 * it where another consumer of the task is in need.
 *
 * A window is used by one thread after the other: a thread that feeds a script with rows of the join drains it, after
 * the task's own thread has asked whether there are any. Memory is given back to the thread that used the window last,
 * between two calls of the window, and to no other thread, as it may not look what that one is doing.
 */
final class WindowMemory(memory: TaskMemoryManager)
    extends MemoryConsumer(memory, WindowMemory.SmallestPage, memory.getTungstenMemoryMode) {

  @volatile private[this] var user = Thread.currentThread
  private[this] var peak = 0L
  private[this] var giveBack: () => Long = () => 0L
  // A request that comes while the window itself asks would find it with its work half done.
  private[this] var isAsking = false

  /** Greatest number of bytes held at a time. */
  def peakBytes: Long = peak

  /** Number of bytes held. */
  def bytesInUse: Long = getUsed

  /** Sets what gives memory back at the request of another consumer; it returns the bytes it gave. */
  def onRequest(giveBack: () => Long): Unit = this.giveBack = giveBack

  /** From now on this thread uses the window; a request of the one before that is being met is met first. */
  def use(): Unit =
    if (user ne Thread.currentThread) synchronized { user = Thread.currentThread }

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

  override def spill(size: Long, trigger: MemoryConsumer): Long = synchronized {
    if (isAsking || (trigger eq this) || (user ne Thread.currentThread)) 0L else giveBack()
  }
}

object WindowMemory {

  /** Bytes of the smallest page; a narrow window needs no more than one. */
  val SmallestPage: Long = 64L * 1024
}

/**
 * The most that a window holds in memory before its rows spill.
 *
 * @param rows number of rows, 1 at least
 * @param bytes bytes of the task's memory
 */
case class WindowLimits(rows: Int, bytes: Long) {
  require(rows > 0, s"a window needs room for one row at least: $rows")

  private[window] def rowsOfBlock: Int = math.min(rows, WindowLimits.MostRowsOfBlock)
}

object WindowLimits {
  private val MostRowsOfBlock = 4096

  /** As many rows as there is memory for. */
  val Unlimited: WindowLimits = WindowLimits(Int.MaxValue, Long.MaxValue)
}
