// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.TaskKilledException
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

/**
 * The memory of an index, accounted to a task. Its arrays are on the heap and live as long as something reads them;
 * giving memory back only changes the accounting. So a thread that reads the index while the task ends never reads
 * freed memory, and no other consumer of the task can take part of it.
 *
 * @param limit bytes there may be at most
 */
final class TaskIndexMemory(tasks: TaskMemoryManager, limit: Long)
    extends MemoryConsumer(tasks, tasks.pageSizeBytes, MemoryMode.ON_HEAP)
    with IndexMemory
    with AutoCloseable {
  private[this] var peak = 0L
  private[this] var closed = false

  /** Greatest number of bytes held at a time. */
  def peakBytes: Long = synchronized(peak)

  /** As declared. Also ends a thread that still builds an index after its task has ended. */
  override def acquire(bytes: Long): Boolean = synchronized {
    if (closed) throw new TaskKilledException("the task of a range join has ended")
    // Spark takes a request for nothing to be an error.
    bytes == 0L || bytes <= limit - getUsed && {
      val granted = acquireMemory(bytes)
      peak = math.max(peak, getUsed)
      if (granted < bytes) freeMemory(granted)
      granted == bytes
    }
  }

  override def release(bytes: Long): Unit = synchronized(freeMemory(math.min(bytes, getUsed)))

  /** Room for pages of the consumer itself, and of others it runs into. */
  override def toBeginWith: Long = 2L * tasks.pageSizeBytes

  /** Gives back what is held, for good. */
  override def close(): Unit = synchronized {
    closed = true
    val held = getUsed
    if (held > 0) freeMemory(held)
  }

  /** An index is read in any order. */
  override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
}
