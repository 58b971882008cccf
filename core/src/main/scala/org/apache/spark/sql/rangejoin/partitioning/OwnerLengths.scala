// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import java.util.BitSet
import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.util.AccumulatorV2

/**
 * The lengths of the rows of an owner of intervals: copies of the other side look back that far. They are
 * counted by the map tasks of the owner's own shuffle, so nothing is read twice. Once copies are made by
 * them, they are ''settled'': a map task that runs again after that, and finds a longer row, fails.
 *
 * One object for both sides of a join in one plan, on the driver. A sample's plan of the same join has another.
 */
private[rangejoin] final class OwnerLengths(val partitioning: JoinPartitioning) extends Logging {
  private var counters: List[LengthCounter] = Nil

  @volatile private var settled: Option[BucketLayout] = None

  /** Defined when all rows have been counted, or the owner has been shuffled; as a query stage keeps its result. */
  val result: AtomicReference[Option[Any]] = new AtomicReference(None)

  private val ofOwnerBegun, ofCopiesBegun = new AtomicReference[Option[Any]](None)

  /** Likewise, defined when a side is about to be shuffled by its buckets. */
  def begun(isOwner: Boolean): AtomicReference[Option[Any]] =
    if (isOwner) ofOwnerBegun else ofCopiesBegun

  /** Says that there is nothing more to wait for. */
  def end(): Unit = result.set(Some(()))

  /** Whether the copies depend on lengths that are still to be counted. */
  def isPending: Boolean =
    !partitioning.range.isPoint && !partitioning.isSingle && result.get.isEmpty

  /** Counts the lengths of rows that are about to be shuffled. */
  def count(context: SparkContext, partitions: Int): LengthCounter = synchronized {
    val counter = new LengthCounter(partitions, () => end())
    context.register(counter)
    counters ::= counter
    if (partitions == 0) end()
    counter
  }

  /** The layout for a map task of the owner that is about to start; null before there is one. */
  def ofOwner: BucketLayout = settled.orElse(partitioning.layout).orNull

  /**
   * The layout for a map task of the copies that is about to start, likewise. Where the lengths are not known, as the
   * owner has been shuffled elsewhere or twice, each class is as long as it may be.
   */
  def ofCopies: BucketLayout =
    if (partitioning.range.isPoint) partitioning.layout.orNull
    else {
      synchronized {
        if (settled.isEmpty) settled = partitioning.layout.map(settle)
        settled.orNull
      }
    }

  private def settle(planned: BucketLayout): BucketLayout = counters match {
    case Seq(counter) if counter.isComplete => planned.lookingBack(counter.value)
    case _                                  =>
      if (planned.numBuckets > 1)
        logWarning(
          "The range lengths of the owner side were not counted: more rows than needed are copied")
      planned
  }

  /** Fails if a task that had begun before the copies were laid out has come upon a longer row. */
  def check(): Unit = synchronized {
    for (layout <- settled; counter <- counters)
      if (!layout.covers(counter.value)) throw BucketLayout.unexpectedLength()
  }
}

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
