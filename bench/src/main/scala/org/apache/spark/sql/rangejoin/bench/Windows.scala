// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.bench

import java.nio.file.Files
import java.util.UUID

import org.apache.spark.SparkConf
import org.apache.spark.memory.{TaskMemoryManager, UnifiedMemoryManager}
import org.apache.spark.serializer.{JavaSerializer, SerializerManager}
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.storage.TempLocalBlockId

/** Windows of a task of their own, which has 1 GiB. */
private[bench] object Windows {
  private val conf = new SparkConf(false)
  private val serializer = new SerializerManager(new JavaSerializer(conf), conf)
  private lazy val directory = {
    val made = Files.createTempDirectory("windows").toFile
    made.deleteOnExit()
    made
  }

  def create(limits: WindowLimits): RangeWindow = {
    val tasks = new TaskMemoryManager(new UnifiedMemoryManager(conf, 1L << 30, 0L, 1), 0L)
    val memory = new WindowMemory(tasks)
    val files = new SpillFiles(
      serializer,
      () => {
        val id = TempLocalBlockId(UUID.randomUUID())
        (id, new java.io.File(directory, id.name))
      })
    new RangeWindow(memory, new PagedRowStore(memory, tasks, 1L << 20), files, limits)
  }
}
