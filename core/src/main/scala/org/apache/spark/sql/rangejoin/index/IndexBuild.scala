// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.TaskKilledException
import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * An index in the making: evaluates keys and bounds of rows, and builds the index of them.
 *
 * {{{
 *   rows.forall(add)  and  result()      // else drain(...) has the rows that were added
 * }}}
 *
 * @param expected the number of rows, where it is known
 * @param keepsUnmatchable whether rows that match nothing, with NULL in a bound, are kept; where the index is not
 *   broadcast, those with NULL in a key, too
 */
final class IndexBuild(
    mode: RangeIndexMode,
    expected: Int,
    keepsUnmatchable: Boolean,
    memory: IndexMemory
) {
  private[this] val beginNanos = System.nanoTime()
  private[this] val builder = new RangeIndexBuilder(mode, expected, keepsUnmatchable, memory)
  private[this] val keyOf = if (mode.keys.isEmpty) null else UnsafeProjection.create(mode.keys)
  private[this] val boundsOf = UnsafeProjection.create(mode.sortBound.toSeq ++ mode.evictBound)
  private[this] val sortAt = if (mode.sortBound.isDefined) 0 else -1
  private[this] val evictAt = if (mode.evictBound.isDefined) mode.sortBound.size else -1
  private[this] val keepsNullKeys = !memory.eq(IndexMemory.Unlimited)
  private[this] var ofNoRows = true

  /** Adds a row; false where there is no memory for it, and it was not added. */
  def add(row: InternalRow): Boolean = {
    ofNoRows = false
    val key = if (keyOf == null) null else keyOf(row)
    val bounds = if (key == null || !key.anyNull) boundsOf(row) else null
    if (bounds == null || bounds.anyNull) {
      if (bounds != null && key != null) builder.addKey(key)
      (bounds == null && !keepsNullKeys) || builder.addUnmatchable(row.asInstanceOf[UnsafeRow])
    } else {
      builder.add(
        key,
        if (sortAt >= 0) bounds.getLong(sortAt) else 0L,
        if (evictAt >= 0) bounds.getLong(evictAt) else 0L,
        row.asInstanceOf[UnsafeRow])
    }
  }

  /** The index of all rows; None where there is no memory for it. */
  def result(): Option[RangeIndex] = builder.result(ofNoRows, beginNanos)

  /** Gives away the rows that were added, and their memory back as they go. */
  def drain(visit: UnsafeRow => Unit): Unit = builder.drain(visit)
}

/** Where the memory of an index comes from. The index asks before it allocates. */
trait IndexMemory {

  /** Takes note of bytes that will be allocated; false where they may not be. */
  def acquire(bytes: Long): Boolean

  /** Takes note of bytes that are no longer in use. */
  def release(bytes: Long): Unit

  /** Bytes that another consumer of the task needs to begin with, to take over what is held. */
  def toBeginWith: Long
}

object IndexMemory {

  /** For an index that is made on the driver: its exchange has limits of its own. */
  object Unlimited extends IndexMemory {
    override def acquire(bytes: Long): Boolean = true
    override def release(bytes: Long): Unit = ()
    override def toBeginWith: Long = 0L
  }
}

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
