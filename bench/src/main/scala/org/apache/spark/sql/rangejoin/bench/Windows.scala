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
