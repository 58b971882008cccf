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

import org.apache.spark.SparkConf
import org.apache.spark.memory.{TaskMemoryManager, UnifiedMemoryManager}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}

import org.scalatest.Assertions

/** The memory of one task, and rows to keep in it, without a session. */
trait TaskMemory extends Assertions {

  /** The memory of a task of which there are `bytes`; all of it has to be given back. */
  protected def withTask[T](bytes: Long = 64L << 20)(block: TaskMemoryManager => T): T = {
    val manager = new UnifiedMemoryManager(new SparkConf(false), bytes, 0L, 1)
    val task = new TaskMemoryManager(manager, 0L)
    try {
      val result = block(task)
      assert(task.getMemoryConsumptionForThisTask == 0L)
      result
    } finally task.cleanUpAllAllocatedMemory()
  }

  /** A window of its own memory, closed when the block is done. */
  protected def withWindow[T](largestPage: Long = 1L << 20)(
      block: (RangeWindow, WindowMemory) => T): T = withTask() { task =>
    val memory = new WindowMemory(task)
    val window = new RangeWindow(memory, new PagedRowStore(memory, task, largestPage))
    try block(window, memory)
    finally {
      window.close()
      assert(memory.getUsed == 0L)
    }
  }

  private val project = UnsafeProjection.create(Array[DataType](LongType, BinaryType))

  /** A row of a number and a payload of bytes; in the buffer of the row before. */
  protected def row(id: Long, payload: Int = 8): UnsafeRow =
    project(InternalRow(id, Array.fill(payload)(id.toByte)))

  /** The number of a row, whose payload has to be whole. */
  protected def idOf(row: UnsafeRow): Long = {
    val id = row.getLong(0)
    assert(row.getBinary(1).forall(_ == id.toByte))
    id
  }

  protected def emptyRow: UnsafeRow = new UnsafeRow(2)
}
