// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * The part of a window that found no memory: blocks of rows with their bounds on disk, and a last one that is being
 * filled. For each row on disk there are two bits in memory.
 *
 * Rows are addressed by the indices of the window. A block is read when one of its rows is requested, and stays until
 * rows of two others are. A scan requests rows in ascending order, those that are candidates or leave, and so reads
 * each block that it needs once; runs are aggregated by rows at their two ends.
 *
 * Invariants: the index of a slot is that of the block's `start` and its own; indices from the first live row of a
 * block to its end do not overlap those of others, and rise; every block but the last has a live row at least;
 * `firstBound` is the sort bound of the first live row of a block, so that a scan knows without reading it that it ends
 * before it. Renumbering drops the indices of rows that left before the first live row of a block, so a tail without
 * holes has consecutive indices.
 *
 * @param mostRows greatest number of rows of a block
 */
private[window] final class SpilledTail(files: SpillFiles, mostRows: Int) {
  private[this] var blocks = new java.util.ArrayList[SpilledBlock]()
  // The position in `blocks` of the block requested last.
  private[this] var position = 0
  private[this] var liveRows = 0
  private[this] var allSlots = 0L
  private[this] var rowsWritten = 0L
  private[this] var bytesWritten = 0L

  private[this] val loaded = new LoadedBlocks(files)
  // The last block as far as it was not written.
  private[this] var filling = new RowBlock

  def isEmpty: Boolean = liveRows == 0

  /** Number of rows. */
  def size: Int = liveRows

  def blockCount: Int = blocks.size

  /** Rows written to disk so far, and their bytes in memory. */
  def spilledRows: Long = rowsWritten
  def spilledBytes: Long = bytesWritten

  /** Blocks read from disk so far. */
  def reads: Long = loaded.reads

  /** Index and sort bound of the first row. */
  def firstIndex: Int = blocks.get(0).firstIndex
  def firstBound: Long = blocks.get(0).firstBound

  /** The number of rows whose sort bound is no more than `bound`, if the first is; without holes. */
  def rowsUpTo(bound: Long): Int = {
    var low = 0
    var high = blocks.size - 1
    while (low < high) {
      val middle = (low + high + 1) >>> 1
      if (blocks.get(middle).firstBound <= bound) low = middle else high = middle - 1
    }
    val block = blocks.get(low)
    block.firstIndex - firstIndex + block.slotsUpTo(bound, load(block))
  }

  def tail: Int = {
    val last = blocks.get(blocks.size - 1)
    last.start + last.slots
  }

  def sortBound(index: Int): Long = {
    val block = find(index)
    if (index == block.firstIndex) block.firstBound else load(block).sortBound(index - block.start)
  }

  def evictBound(index: Int): Long = {
    val block = find(index)
    load(block).evictBound(index - block.start)
  }

  def read(index: Int, row: UnsafeRow): Unit = {
    val block = find(index)
    load(block).read(index - block.start, row)
  }

  /** The first row at an index or after it; Int.MaxValue where there is none. */
  def nextRow(index: Int): Int = {
    var block = find(index)
    var slot = block.nextLive(math.max(index - block.start, 0))
    while (slot == block.slots && position + 1 < blocks.size) {
      position += 1
      block = blocks.get(position)
      slot = block.nextLive(0)
    }
    if (slot == block.slots) Int.MaxValue else block.start + slot
  }

  def isMatched(index: Int): Boolean = {
    val block = find(index)
    block.matched.get(index - block.start)
  }

  def markMatched(index: Int): Unit = {
    val block = find(index)
    block.matched.set(index - block.start)
  }

  /** Removes the row at an index for good. */
  def evict(index: Int): Unit = {
    val block = find(index)
    val slot = index - block.start
    block.dead.set(slot)
    block.live -= 1
    liveRows -= 1
    if (block.live == 0) {
      if (block.bytes != null) drop(block)
    } else if (index == block.firstIndex) {
      block.firstLive = block.nextLive(slot)
      block.firstBound = load(block).sortBound(block.firstLive)
    }
  }

  /** Adds a row behind all others; `index` is its index where there is none yet. */
  def append(row: UnsafeRow, sortBound: Long, evictBound: Long, index: Int): Unit = {
    if (blocks.isEmpty || blocks.get(blocks.size - 1).bytes != null) {
      val start = if (blocks.isEmpty) index else tail
      filling.clear()
      blocks.add(new SpilledBlock(start))
    }
    val block = blocks.get(blocks.size - 1)
    filling.append(row, sortBound, evictBound)
    block.addRow(sortBound)
    liveRows += 1
    allSlots += 1
    if (filling.isFull(mostRows)) seal(block)
  }

  /** Puts the rows that are in memory before all others; they keep their indices. */
  def prepend(rows: MemoryRows): Unit = {
    val added = new java.util.ArrayList[SpilledBlock]()
    val buffer = new RowBlock
    val row = new UnsafeRow(0)
    var index = rows.head
    while (index < rows.tail) {
      val block = new SpilledBlock(index)
      while (index < rows.tail && !buffer.isFull(mostRows)) {
        if (rows.isHole(index)) {
          buffer.appendHole()
          block.dead.set(block.slots)
          block.slots += 1
        } else {
          if (rows.isMatched(index)) block.matched.set(block.slots)
          rows.point(index, row)
          buffer.append(row, rows.sortBound(index), rows.evictBound(index))
          block.addRow(rows.sortBound(index))
        }
        index += 1
      }
      if (block.live > 0) {
        write(block, buffer)
        added.add(block)
      }
      buffer.clear()
    }
    // Nothing has changed where one cannot be written.
    added.forEach { block =>
      liveRows += block.live
      allSlots += block.slots
    }
    blocks.addAll(0, added)
    position = 0
  }

  /** Moves the rows of the first block to the end of those in memory; false where not all fit. */
  def moveFirstBlock(target: MemoryRows, row: UnsafeRow): Boolean = {
    position = 0
    val block = blocks.get(0)
    val rows = load(block)
    var slot = block.nextLive(0)
    var taken = true
    while (taken && slot < block.slots) {
      rows.read(slot, row)
      taken = target.tryAppend(row, rows.sortBound(slot), rows.evictBound(slot))
      if (taken) {
        if (block.matched.get(slot)) target.markMatched(target.tail - 1)
        evict(block.start + slot)
        slot = block.nextLive(slot)
      }
    }
    taken
  }

  /** Bytes of the first block. */
  def firstBlockSize: Long = {
    val block = blocks.get(0)
    if (block.bytes == null) filling.size else block.bytes.length
  }

  /** Number of rows of the first block. */
  def firstBlockRows: Int = blocks.get(0).live

  /** Of the blocks that are written: the last, which is not, stays as it is. */
  private def isSparse: Boolean = {
    val last = blocks.get(blocks.size - 1)
    val isUnwritten = last.bytes == null
    val slots = if (isUnwritten) allSlots - last.slots else allSlots
    val live = if (isUnwritten) liveRows - last.live else liveRows
    slots > 2L * live
  }

  /** Writes the blocks again without the rows that left, where those are more than the others. */
  def compactIfSparse(): Unit =
    if (blocks.size > 1 && isSparse) {
      val old = blocks
      blocks = new java.util.ArrayList[SpilledBlock]()
      val unwritten = old.get(old.size - 1).bytes == null
      val written = if (unwritten) old.size - 1 else old.size
      val last = if (unwritten) old.get(old.size - 1) else null
      val buffer = new RowBlock
      val row = new UnsafeRow(0)
      var target: SpilledBlock = null
      var i = 0
      while (i < written) {
        val block = old.get(i)
        val rows = load(block)
        var slot = block.nextLive(0)
        while (slot < block.slots) {
          if (target == null) target = new SpilledBlock(block.start + slot)
          rows.read(slot, row)
          if (block.matched.get(slot)) target.matched.set(target.slots)
          buffer.append(row, rows.sortBound(slot), rows.evictBound(slot))
          target.addRow(rows.sortBound(slot))
          if (buffer.isFull(mostRows)) {
            finish(target, buffer)
            target = null
          }
          slot = block.nextLive(slot + 1)
        }
        files.release(block.bytes)
        i += 1
      }
      if (target != null) finish(target, buffer)
      if (last != null) blocks.add(last)
      allSlots = 0L
      blocks.forEach(block => allSlots += block.slots)
      loaded.forget()
      position = 0
    }

  private def finish(block: SpilledBlock, buffer: RowBlock): Unit = {
    write(block, buffer)
    buffer.clear()
    blocks.add(block)
  }

  /** Gives the blocks the indices from `start` on. */
  def renumber(start: Int): Unit = {
    var next = start.toLong
    var i = 0
    while (i < blocks.size) {
      val block = blocks.get(i)
      block.start = next.toInt - block.firstLive
      next += block.slots - block.firstLive
      i += 1
    }
    if (next > Int.MaxValue - 1) throw new IllegalStateException(
      s"a window of a range join holds ${Int.MaxValue - 1} rows at most; narrow the range, or add a key"
    )
  }

  /** Removes all rows. Called for every group, and hardly any group has spilled. */
  def clear(): Unit = if (!blocks.isEmpty) {
    blocks.forEach(block => if (block.bytes != null) files.release(block.bytes))
    blocks.clear()
    position = 0
    liveRows = 0
    allSlots = 0L
    loaded.forget()
    filling.clear()
  }

  def close(): Unit = if (filling != null) {
    blocks.clear()
    liveRows = 0
    filling = null
    loaded.close()
    files.close()
  }

  /** Bytes on disk that were written so far. */
  def diskBytes: Long = files.bytesWritten

  private def seal(block: SpilledBlock): Unit = {
    write(block, filling)
    // The rows just written may be requested next.
    filling = loaded.exchange(block.bytes, filling)
  }

  private def write(block: SpilledBlock, rows: RowBlock): Unit = {
    block.bytes = rows.writeTo(files)
    rowsWritten += block.live
    bytesWritten += rows.size
  }

  private def drop(block: SpilledBlock): Unit = {
    files.release(block.bytes)
    allSlots -= block.slots
    blocks.remove(position)
    if (position > 0 && position == blocks.size) position -= 1
  }

  private def load(block: SpilledBlock): RowBlock =
    if (block.bytes == null) filling else loaded(block.bytes)

  /** The block of an index, or the first after it; the last where there is none. */
  private def find(index: Int): SpilledBlock = {
    var block = blocks.get(position)
    if (index < block.firstIndex || index >= block.start + block.slots) {
      var low = 0
      var high = blocks.size - 1
      if (index >= block.start + block.slots) {
        low = math.min(position + 1, high)
        // The next one, mostly.
        val next = blocks.get(low)
        if (index < next.start + next.slots) high = low
      }
      while (low < high) {
        val middle = (low + high) >>> 1
        val candidate = blocks.get(middle)
        if (index >= candidate.start + candidate.slots) low = middle + 1 else high = middle
      }
      position = low
      block = blocks.get(low)
    }
    block
  }
}

/**
 * One block of a [[SpilledTail]]: what is known of its rows without reading them.
 *
 * @param start index of the first slot
 */
private[window] final class SpilledBlock(var start: Int) {

  /** Number of rows, those that left included. */
  var slots = 0

  /** Number of rows that have not left, the slot of the first of them, and its sort bound. */
  var live = 0
  var firstLive = 0
  var firstBound = 0L

  /** The rows on disk; null while they are not there. */
  var bytes: SpilledBytes = _

  /** Slots of rows that left, and of rows that have matched. */
  val dead = new java.util.BitSet()
  val matched = new java.util.BitSet()

  def firstIndex: Int = start + firstLive

  /** Adds a slot for a row. */
  def addRow(sortBound: Long): Unit = {
    if (live == 0) {
      firstLive = slots
      firstBound = sortBound
    }
    slots += 1
    live += 1
  }

  /** The first slot from one on that has a row; the number of slots where there is none. */
  def nextLive(slot: Int): Int = math.min(dead.nextClearBit(slot), slots)

  /** The number of rows from the first on whose sort bound is no more than one; without holes. */
  def slotsUpTo(bound: Long, rows: RowBlock): Int = {
    var low = firstLive
    var high = slots
    while (low < high) {
      val middle = (low + high) >>> 1
      if (rows.sortBound(middle) <= bound) low = middle + 1 else high = middle
    }
    low - firstLive
  }
}
