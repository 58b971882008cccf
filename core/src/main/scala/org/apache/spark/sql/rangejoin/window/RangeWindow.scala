// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * The buffered rows that may match the current streamed row or a later one, in the order of their
 * sort bounds: first those in memory ([[MemoryRows]]), then those that found none ([[SpilledTail]]).
 *
 * {{{
 *   head            memory.tail          tail
 *    │ rows in memory │ block │ block │ … │   sort bounds rise
 * }}}
 *
 * It may have all rows of a group with few of them, in any order (`firstWithin`).
 *
 * A row is addressed by its index in `[head, tail)`; a row that left is a hole, which `nextRow`
 * passes over. Indices hold until the next `append`, `settle` or `clear`; that memory is given back
 * changes none of them.
 *
 * Once rows have spilled, new ones go to the spilled tail, behind them. As rows leave at the head, the first blocks of
 * the tail come back into memory (`settle`), up to an allowance. The allowance is half of what the window held when
 * memory was refused, or nothing if another consumer asked for memory, and doubles each time as many blocks have been
 * read from the tail as it has. So a row is written once for each refusal, and a window that is read again and again
 * comes back.
 *
 * It is used by one thread after the other (`use`). At the request of another consumer memory of the task is given back
 * between two calls of the window where the thread that uses it asks ([[WindowMemory]]).
 *
 * @param limits rows and bytes beyond which rows spill even where there is memory
 */
final class RangeWindow(
    memory: WindowMemory,
    store: PagedRowStore,
    spillFiles: SpillFiles,
    limits: WindowLimits
) extends AutoCloseable {
  import RangeWindow._

  private[this] val inMemory = new MemoryRows(memory, store)
  private[this] val spilled = new SpilledTail(spillFiles, limits.rowsOfBlock)

  private[this] var first = 0
  private[this] var memoryEnd = 0
  private[this] var end = 0

  // Steps that may be made before the row with the index `stepsEnd` is the next one.
  private[this] var stepsLeft = 0
  private[this] var stepsEnd = 0

  // Bytes that may be in memory while rows are spilled.
  private[this] var allowance = Long.MaxValue
  private[this] var readsBefore = 0L
  private[this] val spilledRow = new UnsafeRow(0)

  private[this] var peak = 0

  memory.onRequest(() => giveBack())

  /** From now on this thread uses the window. */
  def use(): Unit = memory.use()

  def head: Int = if (inMemory.isEmpty && !spilled.isEmpty) spilled.firstIndex else first
  def tail: Int = end
  def isEmpty: Boolean = size == 0

  /** Number of rows in the window. */
  def size: Int = inMemory.size + spilled.size

  /** Number of rows of the window that are in memory. */
  private[window] def sizeInMemory: Int = inMemory.size

  /** Greatest number of rows held at a time. */
  def peakRows: Int = peak

  /** Greatest number of bytes of the task's memory held at a time, rows and bounds. */
  def peakMemory: Long = memory.peakBytes

  /** Bytes written to disk. */
  def spillSize: Long = spilled.diskBytes

  /** Rows written to disk, and the bytes they are in memory. */
  def spilledRows: Long = spilled.spilledRows
  def spilledBytes: Long = spilled.spilledBytes

  /** Blocks of rows read from disk. */
  def spillReads: Long = spilled.reads

  def sortBound(index: Int): Long =
    if (index < memoryEnd) inMemory.sortBound(index) else spilled.sortBound(index)

  def evictBound(index: Int): Long =
    if (index < memoryEnd) inMemory.evictBound(index) else spilled.evictBound(index)

  /** The first row at an index or after it; `tail` where there is none. */
  def nextRow(index: Int): Int =
    if (index < memoryEnd) {
      val next = inMemory.nextRow(index)
      if (next < memoryEnd || memoryEnd == end) next else nextSpilled(next)
    } else nextSpilled(index)

  private def nextSpilled(index: Int): Int =
    if (spilled.isEmpty || index >= end) end else math.min(spilled.nextRow(index), end)

  /** Whether there is a row at every index in `[head, tail)`, in memory or on disk. */
  def isDense: Boolean = size == end - head

  /** Whether there is a row at every index in `[head, tail)`, and all are in memory. */
  def isContiguous: Boolean = memoryEnd == end && inMemory.size == end - first

  /**
   * The first index from `index` on whose row has a sort bound above `bound`, or `tail`; for a window
   * that is contiguous.
   */
  def firstBeyond(index: Int, bound: Long): Int = firstBeyond(index, end, bound)

  private def firstBeyond(index: Int, until: Int, bound: Long): Int =
    if (index >= until || inMemory.sortBound(until - 1) <= bound) until
    else {
      var low = index
      var high = until - 1
      while (low < high) {
        val middle = (low + high) >>> 1
        if (inMemory.sortBound(middle) <= bound) low = middle + 1 else high = middle
      }
      low
    }

  /**
   * The first index from `index` on whose row has a sort bound up to `upper` and an evict bound from
   * `lower` on, or `tail`; for a window that is contiguous, in any order.
   */
  def firstWithin(index: Int, lower: Long, upper: Long): Int =
    inMemory.firstWithin(index, lower, upper)

  /** The number of rows whose sort bound is no more than `bound`; for a window that is dense. */
  def rowsUpTo(bound: Long): Int =
    if (!spilled.isEmpty && spilled.firstBound <= bound) inMemory.size + spilled.rowsUpTo(bound)
    else firstBeyond(first, memoryEnd, bound) - first

  /** Points `row` at a row of the window; valid until the next call of the window. */
  def read(index: Int, row: UnsafeRow): Unit =
    if (index < memoryEnd) inMemory.read(index, row) else spilled.read(index, row)

  /**
   * Begins with a row that was read a way along its page, as far as the rows up to `until` are behind
   * one another there; for a window that is contiguous. `step` costs less than `read`.
   */
  def beginSteps(index: Int, until: Int): Unit = {
    stepsLeft = if (index < memoryEnd) inMemory.stepsFrom(index, until) else 0
    stepsEnd = index + 1 + stepsLeft
  }

  /**
   * Points `row`, which points at the row before, at the next row on the way; false where it ends.
   * That memory is given back does not end it: the page of the row that was read last is kept.
   */
  def step(row: UnsafeRow): Boolean = {
    val left = stepsLeft
    left > 0 && {
      stepsLeft = left - 1
      inMemory.step(row)
      true
    }
  }

  /** Ends the way; returns the index behind the row that `row` points at. */
  def endSteps(): Int = {
    stepsEnd -= stepsLeft
    stepsLeft = 0
    stepsEnd
  }

  /** Marks a row as one that has found a match. */
  def markMatched(index: Int): Unit =
    if (index < memoryEnd) inMemory.markMatched(index) else spilled.markMatched(index)

  /** Whether a row was marked as matched. */
  def isMatched(index: Int): Boolean =
    if (index < memoryEnd) inMemory.isMatched(index) else spilled.isMatched(index)

  /** Whether the row at the head is in memory and has an evict bound below `bound`. */
  def isHeadBelow(bound: Long): Boolean = first < memoryEnd && inMemory.evictBound(first) < bound

  private[window] def isHole(index: Int): Boolean = nextRow(index) != index

  /** Adds a row at the tail. */
  def append(row: UnsafeRow, sortBound: Long, evictBound: Long): Unit = {
    if (spilled.isEmpty && hasRoom && inMemory.tryAppend(row, sortBound, evictBound)) {
      first = inMemory.head
      memoryEnd = inMemory.tail
      end = memoryEnd
    } else {
      if (spilled.isEmpty) {
        // Where room was made before memory was refused, rows have other indices now.
        first = inMemory.head
        memoryEnd = inMemory.tail
        beginSpilling()
      }
      spilled.append(row, sortBound, evictBound, memoryEnd)
      end = spilled.tail
      if (end < 0 || end == Int.MaxValue) renumber()
    }
    val rows = size
    if (rows > peak) peak = rows
  }

  private def hasRoom: Boolean =
    inMemory.size < limits.rows && memory.bytesInUse <= limits.bytes

  private def beginSpilling(): Unit = {
    allowance = if (hasRoom) memory.bytesInUse / 2 else Long.MaxValue
    readsBefore = spilled.reads
  }

  /** Removes the row at an index for good. */
  def evict(index: Int): Unit = {
    if (index < memoryEnd) {
      inMemory.evict(index)
      first = inMemory.head
    } else {
      spilled.evict(index)
      if (spilled.isEmpty) {
        spilled.clear()
        end = memoryEnd
      }
    }
    if (memoryEnd == end && first == end) rewind()
  }

  private def rewind(): Unit = {
    inMemory.rewind()
    first = 0
    memoryEnd = 0
    end = 0
  }

  /**
   * Puts the window in order between two scans: closes holes where they are too many, and takes rows
   * back from disk.
   */
  def settle(): Unit = {
    val moved = inMemory.compactIfSparse()
    if (!spilled.isEmpty) {
      spilled.compactIfSparse()
      takeBack()
      renumber()
    } else if (moved) {
      first = inMemory.head
      memoryEnd = inMemory.tail
      end = memoryEnd
    }
  }

  private def takeBack(): Unit = {
    if (spilled.reads - readsBefore > spilled.blockCount) {
      readsBefore = spilled.reads
      allowance =
        math.max(LeastAllowance, allowance + math.min(allowance, Long.MaxValue - allowance))
    }
    if (inMemory.isEmpty) inMemory.release()
    var taken = true
    while (taken && !spilled.isEmpty && mayTakeBack) {
      taken = spilled.moveFirstBlock(inMemory, spilledRow)
      if (!taken) beginSpilling()
    }
    if (spilled.isEmpty) spilled.clear()
  }

  private def mayTakeBack: Boolean = {
    val bytes = memory.bytesInUse + spilled.firstBlockSize
    bytes <= allowance && bytes <= limits.bytes &&
    inMemory.size + spilled.firstBlockRows <= limits.rows
  }

  private def renumber(): Unit = {
    first = inMemory.head
    memoryEnd = inMemory.tail
    if (spilled.isEmpty) end = memoryEnd
    else {
      spilled.renumber(memoryEnd)
      end = spilled.tail
      if (inMemory.isEmpty) first = memoryEnd
    }
  }

  /** Writes all rows in memory to disk and gives the memory back, at the request of a consumer. */
  private def giveBack(): Long = {
    val before = memory.bytesInUse
    // In an empty window no row is being read.
    if (isEmpty) inMemory.release()
    else if (!inMemory.isEmpty) {
      spilled.prepend(inMemory)
      inMemory.giveBack()
      memoryEnd = first
      end = spilled.tail
      allowance = 0L
      readsBefore = spilled.reads
    }
    before - memory.bytesInUse
  }

  /** Removes all rows. */
  def clear(): Unit = {
    inMemory.clear()
    spilled.clear()
    rewind()
  }

  /** Gives back what it has; may be called again. */
  override def close(): Unit = {
    try inMemory.release()
    finally spilled.close()
    first = 0
    memoryEnd = 0
    end = 0
  }
}

object RangeWindow {
  // What a window takes back into memory at first after another consumer asked for all.
  private val LeastAllowance = 1L << 20
}
