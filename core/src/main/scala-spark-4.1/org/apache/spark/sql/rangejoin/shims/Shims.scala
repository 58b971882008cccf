// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import java.util.function.Supplier

import org.apache.spark.internal.config
import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.Serializer
import org.apache.spark.shuffle.ShuffleWriteProcessor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRowChecksum
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.collection.unsafe.sort.{
  PrefixComparators,
  RecordComparator,
  UnsafeExternalSorter
}
import org.apache.spark.{PartitionIdPassthrough, ShuffleDependency, SparkEnv, TaskContext}

/** A shuffle of rows that come with the partitions they go to, with the checksums that settings ask for. */
object PartitionedShuffle {
  def of(
      rows: RDD[Product2[Int, InternalRow]],
      partitions: Int,
      serializer: Serializer,
      writer: ShuffleWriteProcessor
  ): ShuffleDependency[Int, InternalRow, InternalRow] = {
    val conf = SQLConf.get
    val hasChecksums = conf.shuffleOrderIndependentChecksumEnabled ||
      conf.shuffleChecksumMismatchFullRetryEnabled
    new ShuffleDependency[Int, InternalRow, InternalRow](
      rows,
      new PartitionIdPassthrough(partitions),
      serializer,
      shuffleWriterProcessor = writer,
      rowBasedChecksums =
        UnsafeRowChecksum.createUnsafeRowChecksums(if (hasChecksums) partitions else 0),
      checksumMismatchFullRetryEnabled = conf.shuffleChecksumMismatchFullRetryEnabled
    )
  }
}

/** Makes Spark's external sorter with the settings that this line has: it spills by its number of rows or by their size. */
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
      env.conf.get(config.SHUFFLE_SPILL_MAX_SIZE_FORCE_SPILL_THRESHOLD),
      radixSort
    )
  }
}
