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

package org.apache.spark.sql.rangejoin.shims

import java.util.function.Supplier

import org.apache.spark.internal.config
import org.apache.spark.util.collection.unsafe.sort.{
  PrefixComparators,
  RecordComparator,
  UnsafeExternalSorter
}
import org.apache.spark.{SparkEnv, TaskContext}

/** Makes Spark's external sorter with the settings that this line has: it spills by its number of rows. */
object SpillingSorter {

  /** A sorter of a task, by unsigned longs and then by the comparator. */
  def create(
      task: TaskContext,
      comparator: Supplier[RecordComparator],
      radixSort: Boolean): UnsafeExternalSorter = {
    val env = SparkEnv.get
    UnsafeExternalSorter.create(
      task.taskMemoryManager(),
      env.blockManager,
      env.serializerManager,
      task,
      comparator,
      PrefixComparators.BINARY,
      env.conf.get(config.SHUFFLE_SORT_INIT_BUFFER_SIZE).toInt,
      env.memoryManager.pageSizeBytes,
      env.conf.get(config.SHUFFLE_SPILL_NUM_ELEMENTS_FORCE_SPILL_THRESHOLD),
      radixSort
    )
  }
}
