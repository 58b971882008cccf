// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.window

import java.io.File
import java.nio.file.Files
import java.util.UUID

import org.apache.spark.SparkConf
import org.apache.spark.internal.config.{MEMORY_OFFHEAP_ENABLED, MEMORY_OFFHEAP_SIZE}
import org.apache.spark.memory.{MemoryConsumer, TaskMemoryManager, UnifiedMemoryManager}
import org.apache.spark.serializer.{JavaSerializer, SerializerManager}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BinaryType, DataType, LongType}
import org.apache.spark.storage.{BlockId, TempLocalBlockId}
import org.apache.spark.util.Utils

import org.scalatest.Assertions

/** The memory of one task, and rows to keep in it, without a session. */
trait TaskMemory extends Assertions {

  /** Whether the memory is off the heap. */
  protected def offHeap: Boolean = false

  /** The memory of a task of which there are `bytes`; all of it has to be given back. */
  protected def withTask[T](bytes: Long = 64L << 20)(block: TaskMemoryManager => T): T = {
    val conf = new SparkConf(false)
    if (offHeap) conf.set(MEMORY_OFFHEAP_ENABLED, true).set(MEMORY_OFFHEAP_SIZE, bytes)
    val manager = new UnifiedMemoryManager(conf, bytes, 0L, 1)
    val task = new TaskMemoryManager(manager, 0L)
    try {
      val result = block(task)
      assert(task.getMemoryConsumptionForThisTask == 0L)
      result
    } finally task.cleanUpAllAllocatedMemory()
  }

  /** Spill files in a directory of their own, which has to be empty in the end. */
  protected def withSpillFiles[T](
      largestFile: Long = 64L << 20,
      conf: SparkConf = new SparkConf(false),
      encryptionKey: Option[Array[Byte]] = None
  )(block: (SpillFiles, File) => T): T = {
    val directory = Files.createTempDirectory("spill").toFile
    val files = new SpillFiles(
      serializer(conf, encryptionKey),
      () => {
        val id = newBlockId()
        (id, new File(directory, id.name))
      },
      largestFile
    )
    try {
      val result = block(files, directory)
      files.close()
      assert(directory.list().isEmpty)
      result
    } finally Utils.deleteRecursively(directory)
  }

  protected def newBlockId(): BlockId = TempLocalBlockId(UUID.randomUUID())

  protected def serializer(
      conf: SparkConf,
      encryptionKey: Option[Array[Byte]] = None
  ): SerializerManager = new SerializerManager(new JavaSerializer(conf), conf, encryptionKey)

  /** Another consumer of the task's memory, which does not give back what it has. */
  protected class Rival(task: TaskMemoryManager)
      extends MemoryConsumer(task, 1L << 10, task.getTungstenMemoryMode) {
    private var held = 0L

    def take(bytes: Long): Long = {
      val got = acquireMemory(bytes)
      held += got
      got
    }

    def giveAll(): Unit = {
      freeMemory(held)
      held = 0L
    }

    override def spill(size: Long, trigger: MemoryConsumer): Long = 0L
  }

  /** A window of a task's memory, closed when the block is done; nothing of it may remain. */
  protected def withWindow[T](
      largestPage: Long = 1L << 20,
      limits: WindowLimits = WindowLimits.Unlimited,
      bytes: Long = 64L << 20
  )(block: (RangeWindow, WindowMemory) => T): T =
    withRival(bytes, largestPage, limits)((window, memory, _) => block(window, memory))

  /** Likewise, beside who takes memory of the same task. */
  protected def withRival[T](
      bytes: Long,
      largestPage: Long = 1L << 20,
      limits: WindowLimits = WindowLimits.Unlimited,
      largestFile: Long = 64L << 20
  )(block: (RangeWindow, WindowMemory, Rival) => T): T = withTask(bytes) { task =>
    val rival = new Rival(task)
    withSpillFiles(largestFile) { (files, _) =>
      val memory = new WindowMemory(task)
      val store = new PagedRowStore(memory, task, largestPage)
      val window = new RangeWindow(memory, store, files, limits)
      try block(window, memory, rival)
      finally {
        window.close()
        assert(memory.getUsed == 0L)
        rival.giveAll()
      }
    }
  }

  private val project = UnsafeProjection.create(Array[DataType](LongType, BinaryType))

  /** A row of a number and a payload of bytes; in the buffer of the row before. */
  protected def row(id: Long, payload: Int = 8): UnsafeRow =
    project(InternalRow(id, Array.fill(payload)(id.toByte)))

  /** Rows of these numbers, with bounds in proportion to them. */
  protected def append(window: RangeWindow, ids: Long*): Unit =
    ids.foreach(id => window.append(row(id, payload = 40), id * 10, id * 10 + 5))

  /** The number of a row, whose payload has to be whole. */
  protected def idOf(row: UnsafeRow): Long = {
    val id = row.getLong(0)
    assert(row.getBinary(1).forall(_ == id.toByte))
    id
  }

  protected def emptyRow: UnsafeRow = new UnsafeRow(2)
}
