// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.aggregate.{RowNumbers, RunAggregates}

/**
 * What the matches among [[SlidingIntervals]] add up to: the numbers of all rows that have not left, less those of
 * the rows that begin too late.
 */
private[scan] final class SlidingSums(runs: RunAggregates) {
  private[this] val numbers = new RowNumbers(runs)
  private[this] val width = numbers.width
  // The numbers of each row, until it leaves.
  private[this] var ofRows = Array.emptyLongArray
  // Slots that were used and are free again; those from `usedSlots` on were not used in the group.
  private[this] var free = Array.emptyIntArray
  private[this] var freeCount = 0
  private[this] var usedSlots = 0
  // Of all rows before a row, by its position among the begins.
  private[this] var before = Array.emptyLongArray
  private[this] val added = new Array[Long](width)
  private[this] val staying = new Array[Long](width)
  private[this] val matching = new Array[Long](width)

  /** Begins with no rows. */
  def clear(): Unit = {
    numbers.clear()
    java.util.Arrays.fill(added, 0L)
    java.util.Arrays.fill(staying, 0L)
    freeCount = 0
    usedSlots = 0
  }

  /** Reads the numbers of the next row; false where they cannot be summed. */
  def read(row: UnsafeRow): Boolean = numbers.read(row)

  /** Adds the row that was read; returns its slot. */
  def add(begin: Int): Int = {
    val slot = nextSlot()
    var i = 0
    while (i < width) {
      val number = numbers.last(i)
      ofRows(slot * width + i) = number
      before(begin * width + i) = added(i)
      added(i) += number
      staying(i) += number
      i += 1
    }
    slot
  }

  private def nextSlot(): Int =
    if (freeCount > 0) {
      freeCount -= 1
      free(freeCount)
    } else {
      usedSlots += 1
      usedSlots - 1
    }

  /** Removes the row of a slot. */
  def remove(slot: Int): Unit = {
    var i = 0
    while (i < width) {
      staying(i) -= ofRows(slot * width + i)
      i += 1
    }
    free(freeCount) = slot
    freeCount += 1
  }

  /** Makes the result of `runs` that of the rows that stay, but for those from a begin on. */
  def give(firstLate: Int, endOfBegins: Int): Unit = {
    var i = 0
    while (i < width) {
      val late = if (firstLate == endOfBegins) 0L else added(i) - before(firstLate * width + i)
      matching(i) = staying(i) - late
      i += 1
    }
    runs.give(matching)
  }

  /** Makes room for `rows` rows in all; false where there is no memory for them. */
  def reserve(rows: Int): Boolean = rows <= free.length ||
    (hasLength(rows) && runs.takeMemory((rows - free.length) * (8L * width + 8L)) && {
      ofRows = java.util.Arrays.copyOf(ofRows, rows * width)
      free = java.util.Arrays.copyOf(free, rows)
      true
    })

  /**
   * Keeps some of the begins, as the first of `length`; false where there is no memory for them.
   */
  def reserveBegins(first: Int, kept: Int, length: Int): Boolean = {
    val more = length.toLong * width - before.length
    (more <= 0L || (hasLength(length) && runs.takeMemory(more * 8L))) && {
      val target = if (more <= 0L) before else new Array[Long](length * width)
      System.arraycopy(before, first * width, target, 0, kept * width)
      before = target
      true
    }
  }

  /** Whether an array may have the numbers of `rows` rows. */
  private def hasLength(rows: Int): Boolean = rows.toLong * width <= Int.MaxValue - 15
}
