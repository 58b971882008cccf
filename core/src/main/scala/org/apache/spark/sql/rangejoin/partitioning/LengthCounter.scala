// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.BitSet

import org.apache.spark.util.AccumulatorV2

/**
 * Counts the lengths of rows as they are shuffled: the longest one of each number of bits. A maximum is not
 * changed by tasks that run again, or twice at a time.
 *
 * @param partitions of the rows that are shuffled, each of which is read by a task
 * @param whenComplete called on the driver when all of them have been read
 */
final class LengthCounter(partitions: Int, @transient whenComplete: () => Unit)
    extends AccumulatorV2[Int, Lengths] {

  private val lengths = new Lengths.Builder

  /** In a task, its partition. */
  private var partition = -1

  /** On the driver, the partitions that have been read. */
  @transient private val read = new BitSet

  /** Called first of all in a task. */
  def begin(partition: Int): Unit = this.partition = partition

  override def add(length: Int): Unit = lengths.add(length)

  override def isZero: Boolean = partition < 0 && (read == null || read.isEmpty)

  override def reset(): Unit = {
    lengths.clear()
    partition = -1
    if (read != null) read.clear()
  }

  override def copy(): LengthCounter = {
    val result = new LengthCounter(partitions, null)
    result.merge(this)
    result
  }

  override def copyAndReset(): LengthCounter = new LengthCounter(partitions, null)

  override def merge(other: AccumulatorV2[Int, Lengths]): Unit = other match {
    case counter: LengthCounter =>
      val isNowComplete = synchronized {
        lengths.merge(counter.lengths)
        val before = isComplete
        if (counter.partition >= 0) read.set(counter.partition)
        if (counter.read != null) read.or(counter.read)
        isComplete && !before
      }
      if (isNowComplete && whenComplete != null) whenComplete()
    case _ => throw new UnsupportedOperationException(s"Not the lengths of rows: $other")
  }

  override def value: Lengths = synchronized(Lengths(lengths.longest.clone()))

  /** Whether tasks have read all partitions. */
  def isComplete: Boolean = synchronized(read.cardinality == partitions)
}
