// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.memory.{SparkOutOfMemoryError, TaskMemoryManager}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.memory.MemoryBlock

/**
 * Rows in pages of the task's memory, appended one after the other. A page is given back as soon
 * as its last row is released, except for one that is kept for the rows to come; a window that
 * slides therefore runs in two pages. Pages grow with what the window holds, from
 * [[WindowMemory.SmallestPage]] up to `largestPage`.
 *
 * Invariant: `live(p)` is the number of rows in the page with number `p`, and every page but
 * `current` and `spare` has one at least.
 *
 * A row is stored as its size in eight bytes and its bytes; a reference is the address of the size
 * as `TaskMemoryManager` encodes it, a multiple of eight.
 */
final class PagedRowStore(
    memory: WindowMemory,
    tasks: TaskMemoryManager,
    largestPage: Long
) {
  import PagedRowStore._

  private[this] val pages = new java.util.ArrayList[MemoryBlock]()
  private[this] var live = new Array[Int](16)
  // Rows that were put into each page, whether they are live or not.
  private[this] var stored = new Array[Int](16)
  private[this] var liveRows = 0L
  private[this] var storedRows = 0L
  private[this] var lastRead = NoRow
  // The page that was read last: the rows of a scan are mostly in one, and to look it up takes longer
  // than to read a row. `readStart` is what is added to the offset within a reference.
  private[this] var readNumber = NoPage
  private[this] var readBase: AnyRef = _
  private[this] var readStart = 0L
  // From this number of rows on no compaction is tried: one that found no memory is not repeated
  // at once.
  private[this] var tooManyToMove = Long.MaxValue
  private[this] var current: MemoryBlock = _
  private[this] var spare: MemoryBlock = _
  private[this] var position = 0L
  private[this] var nextPage = WindowMemory.SmallestPage

  /** Copies a row into the store; returns the reference to read it by. */
  def append(row: UnsafeRow): Long =
    append(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)

  private def append(rowBase: AnyRef, rowOffset: Long, size: Int): Long = {
    val needed = HeaderBytes + size
    if (current == null || position + needed > current.size) {
      startPage(needed)
    }
    val base = current.getBaseObject
    val offset = current.getBaseOffset + position
    Platform.putLong(base, offset, size)
    Platform.copyMemory(rowBase, rowOffset, base, offset + HeaderBytes, size)
    position += needed
    live(current.pageNumber) += 1
    stored(current.pageNumber) += 1
    liveRows += 1
    storedRows += 1
    tasks.encodePageNumberAndOffset(current, offset)
  }

  /** Points `row` at a stored row; valid until the next call but `giveBack`. */
  def read(reference: Long, row: UnsafeRow): Unit = {
    lastRead = reference
    point(reference, row)
  }

  /** Points `row` at a stored row for the time of a copy: `giveBack` does not keep its page. */
  def point(reference: Long, row: UnsafeRow): Unit = {
    val number = TaskMemoryManager.decodePageNumber(reference)
    if (number != readNumber) turnTo(reference, number)
    val offset = readStart + (reference & OffsetMask)
    row.pointTo(readBase, offset + HeaderBytes, Platform.getLong(readBase, offset).toInt)
  }

  private def turnTo(reference: Long, number: Int): Unit = {
    readNumber = number
    readBase = tasks.getPage(reference)
    readStart = tasks.getOffsetInPage(reference) - (reference & OffsetMask)
  }

  /** Gives a page back, whose number another page may have from then on. */
  private def free(page: MemoryBlock): Unit = {
    if (page.pageNumber == readNumber) {
      readNumber = NoPage
      readBase = null
    }
    memory.free(page)
  }

  /** Points `row`, which points at a stored row, at the row behind it in the page. */
  def step(row: UnsafeRow): Unit = {
    val base = row.getBaseObject
    val offset = row.getBaseOffset + row.getSizeInBytes
    row.pointTo(base, offset + HeaderBytes, Platform.getLong(base, offset).toInt)
  }

  /** Gives up a stored row. */
  def release(reference: Long): Unit = {
    val number = TaskMemoryManager.decodePageNumber(reference)
    live(number) -= 1
    liveRows -= 1
    if (live(number) == 0) {
      storedRows -= stored(number)
      stored(number) = 0
      if (number == current.pageNumber) position = 0L else retire(number)
    }
  }

  /** Whether most of the rows in the pages have left, though others hold the pages. */
  def isSparse: Boolean =
    storedRows > 2 * liveRows && pages.size > SparsePages && liveRows < tooManyToMove

  /** The rows to be moved go to other pages than those there are now. */
  def beginCompaction(): Unit = {
    position = current.size
    tooManyToMove = Long.MaxValue
  }

  /** Moves a row; returns its new reference, or NoRow where there is no memory and it stays. */
  def move(reference: Long): Long = {
    val base = tasks.getPage(reference)
    val offset = tasks.getOffsetInPage(reference)
    try {
      val moved = append(base, offset + HeaderBytes, Platform.getLong(base, offset).toInt)
      release(reference)
      moved
    } catch {
      case _: SparkOutOfMemoryError =>
        tooManyToMove = liveRows / 2
        // Rows that come now are behind those that stay: not in a page with some that were moved.
        position = current.size
        NoRow
    }
  }

  /** Gives up all rows, and keeps a page for the next ones. */
  def clear(): Unit = keepOnly(current)

  /** Gives up all rows and their memory, but for the page of the row read last. */
  def giveBack(): Unit = keepOnly {
    val number = if (lastRead == NoRow) -1 else TaskMemoryManager.decodePageNumber(lastRead)
    var i = 0
    while (i < pages.size && pages.get(i).pageNumber != number) i += 1
    if (i < pages.size) pages.get(i) else null
  }

  private def keepOnly(kept: MemoryBlock): Unit = {
    var i = pages.size - 1
    while (i >= 0) {
      val page = pages.get(i)
      live(page.pageNumber) = 0
      stored(page.pageNumber) = 0
      if (page ne kept) {
        pages.remove(i)
        free(page)
      }
      i -= 1
    }
    current = kept
    spare = null
    position = 0L
    liveRows = 0L
    storedRows = 0L
    lastRead = NoRow
    tooManyToMove = Long.MaxValue
    nextPage = WindowMemory.SmallestPage
  }

  /** Gives up all rows and all memory. */
  def release(): Unit = keepOnly(null)

  private def startPage(needed: Long): Unit = {
    val emptied = if (current != null && live(current.pageNumber) == 0) current else null
    if (spare != null && spare.size >= needed) {
      current = spare
      spare = null
    } else {
      current = allocate(needed)
      pages.add(current)
      nextPage = math.min(nextPage * 2, math.max(largestPage, WindowMemory.SmallestPage))
    }
    position = 0L
    if (live.length <= current.pageNumber) {
      val length = math.max(current.pageNumber + 1, live.length * 2)
      live = java.util.Arrays.copyOf(live, length)
      stored = java.util.Arrays.copyOf(stored, length)
    }
    live(current.pageNumber) = 0
    stored(current.pageNumber) = 0
    // A page too small for the row that came leaves without ever having held one.
    if (emptied != null) retire(emptied.pageNumber)
  }

  /** A page as large as is wished, or, where there is none, one that is large enough. */
  private def allocate(needed: Long): MemoryBlock = {
    val smallest = math.max(needed, WindowMemory.SmallestPage)
    if (nextPage <= smallest) memory.allocate(smallest)
    else {
      try memory.allocate(nextPage)
      catch {
        case _: SparkOutOfMemoryError => memory.allocate(smallest)
      }
    }
  }

  /** Keeps a page without rows if it is the better spare, and gives back the other. */
  private def retire(number: Int): Unit = {
    val page = find(number)
    val unneeded =
      if (spare != null && spare.size >= page.size) page
      else {
        val former = spare
        spare = page
        former
      }
    if (unneeded != null) {
      pages.remove(unneeded)
      free(unneeded)
    }
  }

  private def find(number: Int): MemoryBlock = {
    var i = 0
    while (pages.get(i).pageNumber != number) i += 1
    pages.get(i)
  }
}

object PagedRowStore {

  /** The reference of no row. */
  private[window] val NoRow = -1L

  // The number of no page.
  private val NoPage = -1

  /**
   * The bits of a reference that tell where in its page the row is; the bits above are the number of the page.
   */
  private val OffsetMask = (1L << 51) - 1

  // In fewer pages than these there is little to win.
  private val SparsePages = 4
  private val HeaderBytes = 8L
}
