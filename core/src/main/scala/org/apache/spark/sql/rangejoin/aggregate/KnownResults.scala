// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import java.util.{HashMap => JHashMap}

import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}

/**
 * Caches the aggregates of the last streamed rows by the columns that their matches depend on: with a residual, every
 * pair would otherwise be tested again for each equal row.
 *
 * The cache is emptied at 64 MiB, or when memory is refused or another consumer asks for it, and switched off if few
 * rows find a result.
 *
 * @param columns those that the condition reads of a streamed row
 */
final class KnownResults(columns: Seq[Expression], tasks: TaskMemoryManager) {
  import KnownResults._

  private[this] val toKey = UnsafeProjection.create(columns)
  private[this] val memory = new BufferMemory(tasks, () => forget())
  private[this] val results = new JHashMap[UnsafeRow, Known]
  private[this] var bytes = 0L
  private[this] var asked = 0
  private[this] var found = 0
  private[this] var isUseful = true
  private[this] var isFirst = true
  private[this] var key: UnsafeRow = _

  /** The result that is known for a row; null if there is none. */
  def get(row: InternalRow): Known =
    if (!isUseful) null
    else {
      memory.use()
      key = toKey(row)
      val known = results.get(key)
      if (known != null) found += 1
      asked += 1
      if (asked == Asked) decide(LeastFound)
      else if (asked == FirstAsked && isFirst) decide(LeastOfFirst)
      known
    }

  /** Keeps what was aggregated for the row that `get` was called with last. */
  def put(matches: Long, aggregated: MatchAggregator): Unit =
    if (isUseful) {
      val buffer = aggregated.result()
      val size = key.getSizeInBytes.toLong + buffer.getSizeInBytes + EntryBytes
      if (bytes + size > MostBytes) forget()
      if (size <= MostBytes && memory.take(size)) {
        bytes += size
        results.put(key.copy(), new Known(matches, buffer.copy()))
      } else forget()
    }

  private def decide(least: Int): Unit = {
    isUseful = found >= least
    isFirst = false
    if (!isUseful) close()
    else if (asked == Asked) {
      asked = 0
      found = 0
    }
  }

  private def forget(): Unit = {
    results.clear()
    memory.release(bytes)
    bytes = 0L
  }

  /** Gives all memory back. */
  def close(): Unit = {
    forget()
    memory.close()
  }
}

object KnownResults {

  /** @param matches how many were aggregated */
  final class Known(val matches: Long, val buffer: UnsafeRow)

  private val MostBytes = 64L << 20

  /** Bytes of an entry, for the map and the objects. */
  private val EntryBytes = 160

  /**
   * The cache stays on only if at least `LeastFound` of `Asked` rows find a result. A shorter window would miss the
   * gain even if there were only about 10,000 kinds of rows.
   */
  private val Asked = 1 << 16
  private val LeastFound = 1 << 11

  /**
   * Early exit: with fewer than `LeastOfFirst` results found for the first `FirstAsked` rows, there are more kinds of
   * rows than the cache holds.
   */
  private val FirstAsked = 1 << 12
  private val LeastOfFirst = 1 << 5
}
