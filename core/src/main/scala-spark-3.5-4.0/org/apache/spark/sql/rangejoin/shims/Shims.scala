// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import java.util.function.Supplier

import org.apache.spark.internal.config
import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.Serializer
import org.apache.spark.shuffle.ShuffleWriteProcessor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{EvalMode, Expression, TimeAdd}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.collection.unsafe.sort.{
  PrefixComparators,
  RecordComparator,
  UnsafeExternalSorter
}
import org.apache.spark.{PartitionIdPassthrough, ShuffleDependency, SparkEnv, TaskContext}

/** A shuffle of rows that come with the partitions they go to. */
object PartitionedShuffle {
  def of(
      rows: RDD[Product2[Int, InternalRow]],
      partitions: Int,
      serializer: Serializer,
      writer: ShuffleWriteProcessor
  ): ShuffleDependency[Int, InternalRow, InternalRow] =
    new ShuffleDependency[Int, InternalRow, InternalRow](
      rows,
      new PartitionIdPassthrough(partitions),
      serializer,
      shuffleWriterProcessor = writer
    )
}

/** How `Add`, `Subtract` and `Multiply` are told to raise on overflow. */
object RaisingArithmetic {
  type Mode = EvalMode.Value

  /** Raises on overflow, whatever the mode of the session. */
  val Raising: Mode = EvalMode.ANSI
}

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

/** `timestamp + interval`: matches the timestamp and the interval. */
object TimestampPlusInterval {
  def unapply(e: Expression): Option[(Expression, Expression)] = e match {
    case TimeAdd(timestamp, interval, _) => Some((timestamp, interval))
    case _                               => None
  }
}

/** Spark's limit to the bytes that a sort-merge join buffers before it spills. Here there is none. */
object WindowBytes {
  def of(conf: SQLConf): Long = Long.MaxValue
}
