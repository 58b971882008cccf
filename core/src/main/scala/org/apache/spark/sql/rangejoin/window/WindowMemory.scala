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

import org.apache.spark.memory.{MemoryConsumer, TaskMemoryManager}
import org.apache.spark.unsafe.array.LongArray
import org.apache.spark.unsafe.memory.MemoryBlock

/**
 * The memory of one window, accounted to the task. Every page and every array of the window comes
 * from here, so that Spark sees what the operator holds and refuses what it cannot have.
 *
 * Rows are not written to disk yet, so a request of another consumer frees nothing here; a window
 * that finds no memory fails with Spark's out-of-memory error after the other consumers of the
 * task (the sorts below, for one) have spilled.
 */
final class WindowMemory(memory: TaskMemoryManager)
    extends MemoryConsumer(memory, WindowMemory.SmallestPage, memory.getTungstenMemoryMode) {

  private[this] var peak = 0L

  /** Greatest number of bytes held at a time. */
  def peakBytes: Long = peak

  /** A page of at least `bytes` bytes. */
  def allocate(bytes: Long): MemoryBlock = {
    val page = allocatePage(bytes)
    peak = math.max(peak, getUsed)
    page
  }

  def free(page: MemoryBlock): Unit = freePage(page)

  override def allocateArray(size: Long): LongArray = {
    val array = super.allocateArray(size)
    peak = math.max(peak, getUsed)
    array
  }

  override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
}

object WindowMemory {

  /** Bytes of the smallest page; a narrow window needs no more than one. */
  val SmallestPage: Long = 64L * 1024
}
