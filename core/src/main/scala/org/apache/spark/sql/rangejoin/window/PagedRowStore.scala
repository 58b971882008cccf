/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package org.apache.spark.sql.rangejoin.window

import org.apache.spark.memory.TaskMemoryManager
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
 * as `TaskMemoryManager` encodes it.
 */
final class PagedRowStore(
    memory: WindowMemory,
    tasks: TaskMemoryManager,
    largestPage: Long
) extends RowStore {
  import PagedRowStore._

  private[this] val pages = new java.util.ArrayList[MemoryBlock]()
  private[this] var live = new Array[Int](16)
  private[this] var current: MemoryBlock = _
  private[this] var spare: MemoryBlock = _
  private[this] var position = 0L
  private[this] var nextPage = WindowMemory.SmallestPage

  override def append(row: UnsafeRow): Long = {
    val size = row.getSizeInBytes
    val needed = HeaderBytes + size
    if (current == null || position + needed > current.size) {
      startPage(needed)
    }
    val base = current.getBaseObject
    val offset = current.getBaseOffset + position
    Platform.putLong(base, offset, size)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, base, offset + HeaderBytes, size)
    position += needed
    live(current.pageNumber) += 1
    tasks.encodePageNumberAndOffset(current, offset)
  }

  override def read(reference: Long, row: UnsafeRow): Unit = {
    val base = tasks.getPage(reference)
    val offset = tasks.getOffsetInPage(reference)
    val size = Platform.getLong(base, offset).toInt
    row.pointTo(base, offset + HeaderBytes, size)
  }

  override def release(reference: Long): Unit = {
    val number = TaskMemoryManager.decodePageNumber(reference)
    live(number) -= 1
    if (live(number) == 0) {
      if (number == current.pageNumber) position = 0L else retire(number)
    }
  }

  override def clear(): Unit = {
    var i = pages.size - 1
    while (i >= 0) {
      val page = pages.get(i)
      if (page ne current) {
        pages.remove(i)
        memory.free(page)
      }
      i -= 1
    }
    spare = null
    position = 0L
    if (current != null) live(current.pageNumber) = 0
  }

  override def close(): Unit = {
    pages.forEach(page => memory.free(page))
    pages.clear()
    current = null
    spare = null
  }

  private def startPage(needed: Long): Unit = {
    val emptied = if (current != null && live(current.pageNumber) == 0) current else null
    if (spare != null && spare.size >= needed) {
      current = spare
      spare = null
    } else {
      current = memory.allocate(math.max(needed, nextPage))
      pages.add(current)
      nextPage = math.min(nextPage * 2, math.max(largestPage, WindowMemory.SmallestPage))
    }
    position = 0L
    if (live.length <= current.pageNumber) {
      live = java.util.Arrays.copyOf(live, math.max(current.pageNumber + 1, live.length * 2))
    }
    live(current.pageNumber) = 0
    // A page too small for the row that came leaves without ever having held one.
    if (emptied != null) retire(emptied.pageNumber)
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
      memory.free(unneeded)
    }
  }

  private def find(number: Int): MemoryBlock = {
    var i = 0
    while (pages.get(i).pageNumber != number) i += 1
    pages.get(i)
  }
}

object PagedRowStore {
  private val HeaderBytes = 8L
}
