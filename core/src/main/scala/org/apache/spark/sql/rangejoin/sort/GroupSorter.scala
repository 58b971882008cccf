// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sort

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.expressions.{BaseOrdering, RowOrdering, SortOrder, UnsafeRow}

/**
 * An incremental sort: of rows that come in order by the first sort columns, and are put in order by the others. Rows
 * that are equal in the first columns, a '''group''', are next to one another, so that one group at a time is sorted,
 * as rows are requested; no more of the input is read than the first row of the next group. Which rows are equal is for
 * Spark's own ordering to say.
 *
 * A group is sorted in memory that all groups share ([[RowGroup]]). One that outgrows it goes to a [[PrefixSorter]] of
 * its own, which spills. So an input of one group costs as much as a whole sort, and in groups of one row each row
 * costs a copy and a comparison.
 *
 * Invariant: `ahead` is the row of the input behind the present group, or null if none was read; as
 * rows of the input are used again for the next, the input is not touched while `ahead` is to be read.
 *
 * @param order the sort columns, ascending, bound to the row
 * @param presorted how many of them, from the first on, the input is in order by; at least one, not all
 * @param numFields columns of a row
 * @param levelOfLarge of the [[PrefixSorter]] of a large group
 * @param task whose memory it takes; rows may be requested by a thread that does not know of it
 */
final class GroupSorter(
    order: Seq[SortOrder],
    presorted: Int,
    numFields: Int,
    levelOfLarge: Int,
    task: TaskContext = TaskContext.get()) {
  require(presorted > 0 && presorted < order.size)
  import GroupSorter._

  private val within = new SortColumns(order.drop(presorted), numFields)
  private val ofGroups =
    RowOrdering.create(order.take(presorted), Nil).asInstanceOf[BaseOrdering]
  private val group = new RowGroup(within)

  private var large: PrefixSorter = _
  private var groups = 0L
  private var largeGroups = 0L
  private var sortNanos = 0L
  private var peakOfLarge = 0L
  private var spilledOfLarge = 0L
  private var peakOfGroups = 0L
  private var released = false

  /** Groups, single rows included. */
  def numGroups: Long = groups

  /** Groups that were too large to be sorted in the memory all groups share. */
  def numLargeGroups: Long = largeGroups

  /** Nanoseconds of sorting in memory, without small groups, which take less time than reading the clock. */
  def sortTimeNanos: Long = sortNanos + ofLarge(_.sortTimeNanos)

  /** Bytes of the task's memory. */
  def peakExecutionMemory: Long = math.max(peakOfLarge, ofLarge(_.peakMemory))

  /** Bytes, whether accounted for or not. */
  def peakMemory: Long = peakExecutionMemory + math.max(peakOfGroups, group.memory)

  /** Bytes of memory that were given back by writing rows to disk. */
  def spillSize: Long = spilledOfLarge + ofLarge(_.spillSize)

  private def ofLarge(what: PrefixSorter => Long): Long = if (large == null) 0L else what(large)

  /** The rows in order. A row is valid until the next one is requested; the last one stays. */
  def sorted(rows: Iterator[UnsafeRow]): GroupedRows = new SortedGroups(rows)

  def cleanupResources(): Unit = {
    released = true
    if (large != null) large.cleanupResources()
    peakOfGroups = math.max(peakOfGroups, group.memory)
    group.release()
  }

  private final class SortedGroups(rows: Iterator[UnsafeRow]) extends GroupedRows {
    private var ahead: UnsafeRow = _
    private var exhausted = false
    private var inAnyOrder = false
    private var position = 0
    private var isLarge = false
    private var ofLargeGroup: Iterator[UnsafeRow] = _

    override def columnsInCommon: Int = presorted

    override def isInOrder: Boolean = false

    override def takeInAnyOrder(): Unit = inAnyOrder = true

    override def hasNext: Boolean =
      !released && (ahead != null || isInGroup || load() || {
        // A task may read many such inputs, and keep their sorters for their metrics.
        cleanupResources()
        false
      })

    /** Whether there are rows left of a group that was put in order. */
    private def isInGroup: Boolean = position < group.size || (isLarge && ofLargeGroup.hasNext)

    override def next(): UnsafeRow = {
      if (!isInGroup) {
        if (!hasNext) throw new NoSuchElementException
        if (inAnyOrder) return takeAhead()
        sortGroup(Iterator.empty, takeAhead())
      }
      if (isLarge) {
        ofLargeGroup.next()
      } else {
        position += 1
        group.row(position - 1)
      }
    }

    private def takeAhead(): UnsafeRow = {
      val row = ahead
      ahead = null
      row
    }

    private def load(): Boolean = {
      if (!exhausted) {
        if (rows.hasNext) ahead = rows.next()
        else {
          ahead = null
          exhausted = true
        }
      }
      !exhausted
    }

    private def continues(): Boolean = load() && ofGroups.compare(group.first, ahead) == 0

    override def sortGroup(before: Iterator[UnsafeRow], current: UnsafeRow): Unit = {
      group.clear()
      groups += 1
      isLarge = false
      while (before.hasNext) add(before.next())
      add(current)
      while (continues()) add(ahead)
      position = if (isLarge) group.size else 0
      if (isLarge) ofLargeGroup = large.sorted()
      else if (group.size <= UntimedRows) group.sort()
      else {
        val begin = System.nanoTime()
        group.sort()
        sortNanos += System.nanoTime() - begin
      }
    }

    private def add(row: UnsafeRow): Unit =
      if (isLarge) large.insert(row) else if (!group.add(row)) beginLarge(row)

    /** Moves a group to a sorter of its own, with the first row that finds no room. */
    private def beginLarge(row: UnsafeRow): Unit = {
      forgetLarge()
      isLarge = true
      largeGroups += 1
      large = new PrefixSorter(within, levelOfLarge, task)
      for (i <- 0 until group.size) large.insert(group.row(i))
      large.insert(row)
    }

    private def forgetLarge(): Unit = if (large != null) {
      sortNanos += large.sortTimeNanos
      peakOfLarge = math.max(peakOfLarge, large.peakMemory)
      spilledOfLarge += large.spillSize
      large.cleanupResources()
      large = null
    }
  }
}

private[sort] object GroupSorter {

  /** Sorting this many rows takes about as long as reading the clock twice. */
  private final val UntimedRows = 64
}

/**
 * Rows in '''groups''': ordered by the first sort columns, which are equal within a group, and put in order by the
 * other columns one group at a time. A consumer that accepts small groups in any order says so (`takeInAnyOrder`) and
 * gets the rows as they come, neither copied nor compared; it requests the order of a group where it needs it
 * (`sortGroup`). Rows that turn out to be in the whole order need not be put in order (`isInOrder`).
 */
trait GroupedRows extends Iterator[UnsafeRow] {

  /** How many of the first sort columns the rows of a group have in common. */
  def columnsInCommon: Int

  /** Whether all rows are in order, and stay so; known when the first one has been requested. */
  def isInOrder: Boolean

  /**
   * From now on rows come as they are, valid until `hasNext`, except for groups whose order is requested.
   */
  def takeInAnyOrder(): Unit

  /**
   * Puts a group in order, or what is left of it: `next` gives the first of its rows.
   *
   * @param before rows of the group that `next` has given, in any order, each valid until the next
   * @param current the row that `next` gave last, which is not among them
   */
  def sortGroup(before: Iterator[UnsafeRow], current: UnsafeRow): Unit
}
