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

package org.apache.spark.sql.rangejoin.reduce

import org.apache.spark.memory.{MemoryConsumer, MemoryMode, TaskMemoryManager}

/**
 * Memory of the task for what can be made again, taken in larger pieces than it is asked for.
 *
 * @param forget lets go of all that there is, at the request of another consumer of this thread
 */
private[reduce] final class BufferMemory(tasks: TaskMemoryManager, forget: () => Unit) {
  import BufferMemory._

  private[this] val owner = Thread.currentThread
  private[this] var free = 0L
  private[this] val consumer =
    new MemoryConsumer(tasks, MemoryMode.ON_HEAP) {
      override def spill(size: Long, trigger: MemoryConsumer): Long =
        if (trigger.eq(this) || Thread.currentThread.ne(owner)) 0L
        else {
          val held = getUsed
          forget()
          held
        }
    }

  /** Takes memory; false where there is none. */
  def take(bytes: Long): Boolean = {
    if (free < bytes) free += consumer.acquireMemory(math.max(Piece, bytes))
    val taken = free >= bytes
    if (taken) free -= bytes
    taken
  }

  def giveBack(): Unit = {
    free = 0L
    if (consumer.getUsed > 0L) consumer.freeMemory(consumer.getUsed)
  }
}

private object BufferMemory {
  private final val Piece = 64L << 10
}
