// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import scala.util.control.NonFatal

import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.kernel.Run

/**
 * Aggregates runs of rows, by a tree of buffers: of 16 rows, of 16 such blocks, and so on.
 *
 * {{{
 *   rows      ······|················|················|····
 *   run          └─── ─────────────── ──────────────── ──┘     3 rows, 2 blocks, 4 rows
 * }}}
 *
 * A buffer is made when a run first has all rows of its block, which are then read for the run in any case. So runs of
 * a few rows cost what it costs to aggregate these, and longer ones `O(log n)` updates and merges. Where many runs have
 * one end in common, as in a range without a lower or an upper end, the buffer of the rows between that end and a block
 * is kept as well: such a run costs one merge and up to 15 updates. If each run extends the one before, the last such
 * buffer is enough; else one is kept for each block.
 *
 * Nothing is subtracted from a run, so every function that can merge buffers is supported, and rows are added in their
 * order.
 *
 * A block whose rows raise an error, or overflow by themselves, has no buffer: its rows are aggregated each
 * time, as if there were no blocks, and raise if they still do.
 *
 * Buffers can be made again, so they are given up when another consumer asks for memory, and are not
 * kept where there is none. Those of 256 rows and more are kept all the same, if they are of a few columns of a
 * fixed size: that is half a byte a row, and without them a run would cost as much as it has rows.
 */
class RunAggregates(aggregation: MatchAggregation, tasks: TaskMemoryManager) {
  import RunAggregates._

  private[this] val target = MatchAggregator.create(aggregation)
  private[this] val memory = new BufferMemory(tasks, () => forgetCounted())
  private[this] val isSmall = aggregation.isFixed && aggregation.types.size <= MostSmallColumns
  // By level, from the blocks of 16 rows on.
  private[this] val blocks =
    Array.tabulate(Levels)(level => new BlockBuffers(memory, isCounted = level == 0 || !isSmall))
  private[this] val makers = new Array[MatchAggregator](Levels)
  // From the common end of runs to the begin of a block of 16 rows.
  private[this] val fromEnd = new CommonEndBuffers(memory)
  private[this] val row = new UnsafeRow(aggregation.inputs)

  private[this] var rows: Run = _
  private[this] var oldest = 0
  private[this] var epoch = 0L

  /** The buffer of the run that was aggregated last. */
  def result: UnsafeRow = target.result()

  /**
   * Aggregates a run.
   *
   * @param epoch changes whenever positions refer to other rows
   * @param oldest the first position of which a later run may have rows
   * @param common which end this run shares with many others: `NoEnd`, `Begin` or `End`
   */
  def aggregate(
      rows: Run,
      epoch: Long,
      oldest: Int,
      from: Int,
      until: Int,
      common: Int): Unit = if (!aggregation.isEmpty) {
    memory.use()
    this.rows = rows
    this.oldest = oldest
    if (this.epoch != epoch) {
      this.epoch = epoch
      forget()
      memory.giveBackMuch()
    }
    target.clear()
    if (common == NoEnd || until - from < 2 * Fanout) add(target, from, until)
    else if (common == Begin) {
      val block = until >>> Bits
      addFromEnd(block, from, from, block << Bits)
      add(target, block << Bits, until)
    } else {
      val block = (from + Fanout - 1) >>> Bits
      add(target, from, block << Bits)
      addFromEnd(block, until, block << Bits, until)
    }
  }

  /** Whether rows can be subtracted from the buffers (see [[ExactColumns]]). */
  def areExact: Boolean = aggregation.exact.isDefined

  /** The columns from which rows can be subtracted; only if `areExact`. */
  def exact: ExactColumns = aggregation.exact.get

  /** Whether all functions are counts. */
  def countsOnly: Boolean = aggregation.countsOnly

  /** Whether the functions count a row, once each; they are counts. */
  def countsRow(row: UnsafeRow): Boolean =
    aggregation.isEmpty || (aggregateRow(row) && CountBuffers.areOne(target.result()))

  /** Makes `result` that of one row; false where that raises an error, which a match would have to raise. */
  def aggregateRow(row: UnsafeRow): Boolean =
    try {
      target.clear()
      target.update(row)
      true
    } catch {
      case NonFatal(_) => false
    }

  /** Makes each count this number. */
  def count(number: Int): Unit =
    if (!aggregation.isEmpty) give(CountBuffers.fill(_, number.toLong))

  /** Makes `result` that of rows whose numbers add up to these. */
  def give(numbers: Array[Long]): Unit = give(exact.write(numbers, _))

  private def give(fill: UnsafeRow => Unit): Unit = {
    target.clear()
    val buffer = target.result()
    fill(buffer)
    target.merge(buffer)
  }

  /** Takes memory for what is made for as long as this is used; false where there is none. */
  def takeMemory(bytes: Long): Boolean = memory.pin(bytes)

  /** Adds the rows between a block and the common end. */
  private def addFromEnd(block: Int, end: Int, from: Int, until: Int): Unit = {
    if (!fromEnd.moveTo(block, end)) makeFromEnd(block, end, from, until)
    if (fromEnd.current.eq(Broken)) add(target, from, until) else target.merge(fromEnd.current)
  }

  private def makeFromEnd(block: Int, end: Int, from: Int, until: Int): Unit = {
    val maker = makerOf(Levels - 1)
    val before = if (from == end) fromEnd.before(block, end) else null
    val made =
      try {
        maker.clear()
        if (before != null && before.ne(Broken)) {
          maker.merge(before)
          add(maker, fromEnd.currentBlock << Bits, until)
        } else add(maker, from, until)
        if (aggregation.hasOverflowed(maker.result())) Broken else maker.result().copy()
      } catch {
        case NonFatal(_) => Broken
      }
    fromEnd.put(block, end, made)
  }

  private def add(to: MatchAggregator, from: Int, until: Int): Unit = {
    var position = from
    while (position < until) {
      var level = highestLevel(position, until - position)
      var block: UnsafeRow = null
      while (level >= 0 && block == null) {
        block = blockAt(level, position >>> bitsOf(level))
        if (block == null) level -= 1
      }
      if (block == null) {
        rows.read(position, row)
        to.update(row)
        position += 1
      } else {
        to.merge(block)
        position += 1 << bitsOf(level)
      }
    }
  }

  /** The highest level at which a block of at most `left` rows begins at a position; or -1. */
  private def highestLevel(position: Int, left: Int): Int = {
    var level = -1
    while (level + 2 < Levels && left >= (1 << bitsOf(level + 1)) &&
      (position & ((1 << bitsOf(level + 1)) - 1)) == 0) level += 1
    level
  }

  /** The buffer of a block; null if there can be none. */
  private def blockAt(level: Int, block: Int): UnsafeRow = {
    val kept = blocks(level).get(block)
    if (kept.eq(Broken)) null
    else if (kept != null) kept
    else {
      val made = make(level, block)
      blocks(level).put(block, if (made == null) Broken else made, oldest >>> bitsOf(level))
      made
    }
  }

  /** Null where an error is raised, or a sum overflows. */
  private def make(level: Int, block: Int): UnsafeRow = {
    val maker = makerOf(level)
    try {
      maker.clear()
      var i = block << Bits
      val until = i + Fanout
      var isWhole = true
      while (isWhole && i < until) {
        if (level == 0) {
          rows.read(i, row)
          maker.update(row)
        } else {
          val part = blockAt(level - 1, i)
          isWhole = part != null
          if (isWhole) maker.merge(part)
        }
        i += 1
      }
      if (isWhole && !aggregation.hasOverflowed(maker.result())) maker.result().copy() else null
    } catch {
      case NonFatal(_) => null
    }
  }

  private def makerOf(level: Int): MatchAggregator = {
    if (makers(level) == null) makers(level) = MatchAggregator.create(aggregation)
    makers(level)
  }

  private def forget(): Unit = {
    blocks.foreach(_.clear())
    fromEnd.clear()
  }

  private def forgetCounted(): Unit = {
    blocks.foreach(buffers => if (buffers.isCounted) buffers.clear())
    fromEnd.forgetKept()
  }

  /** Gives all memory back. */
  def close(): Unit = {
    forget()
    memory.close()
  }
}

object RunAggregates {
  private final val Bits = 4
  private final val Fanout = 1 << Bits

  /** Blocks of 16 rows up to blocks of 16^6, and a slot for what is aggregated from an end. */
  private final val Levels = 7

  private final val MostSmallColumns = 16

  /** Stands for the buffer of a block whose rows raise an error. */
  private val Broken = new UnsafeRow(0)

  // Which end a run shares with many others. Constants, so that comparing them is cheap.
  final val NoEnd = 0
  final val Begin = 1
  final val End = 2

  private def bitsOf(level: Int): Int = (level + 1) * Bits
}
