// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import java.util.concurrent.TimeUnit.NANOSECONDS

import org.apache.spark.TaskContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{SortOrder, UnsafeRow}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.index._
import org.apache.spark.sql.rangejoin.join.{
  CandidateScanner,
  PairScanner,
  PartitionScan,
  PartitionScanFactory
}
import org.apache.spark.sql.rangejoin.scan.{RangeScanner, RangeScannerFactory, WindowMetrics}
import org.apache.spark.sql.rangejoin.sort.{PrefixSorter, SortColumns, SortedOnDemand}
import org.apache.spark.util.TaskCompletionListener

/**
 * The join of one partition. The build side is read when this is made, into an index of its range, and
 * the streamed side is scanned through it, in the order it comes.
 *
 * If there is no memory for the index, the rows that it has taken, all other rows of the build side, and the streamed
 * side are sorted, and the partition is scanned as a sort-merge range join would. Both ways are a scanner to the loop
 * around it.
 *
 * What is held is given back by `close`, at the end of the join or of the task.
 */
final class PartitionJoin private[shuffled] (
    streamed: Iterator[InternalRow],
    build: Iterator[InternalRow],
    parts: PartitionJoinFactory
) extends PartitionScan
    with Logging {
  import parts.{behavior, metrics}

  private[this] val task = TaskContext.get()
  private[this] val memory = new TaskIndexMemory(task.taskMemoryManager(), parts.indexLimit)
  private[this] var strategy: PartitionScan = _
  private[this] var buildNanos = 0L
  private[this] var closed = false
  private[this] var release: () => Unit = _

  /**
   * Registers an action for the end, so that whatever closes this with its task need not hold it any longer.
   */
  private[shuffled] def onClose(action: () => Unit): Unit = release = action

  /** Reads the build side. */
  private[shuffled] def begin(): this.type = {
    val begin = System.nanoTime()
    strategy = open()
    buildNanos = System.nanoTime() - begin
    this
  }

  override def scanner: CandidateScanner = strategy.scanner

  override def pairScanner: PairScanner = strategy.pairScanner

  private def open(): PartitionScan = {
    val index = new IndexBuild(parts.mode, 0, behavior.preservesBuffered, memory)
    var refused: InternalRow = null
    while (refused == null && build.hasNext) {
      val row = build.next()
      if (!index.add(row)) refused = row
    }
    val built = if (refused == null) index.result() else None
    built.fold[PartitionScan](new Sorted(index, refused))(new Indexed(_))
  }

  override def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      // There is none where the build side could not be read.
      if (strategy != null) strategy.close()
      memory.close()
      metrics.buildTime += NANOSECONDS.toMillis(buildNanos)
      metrics.window.peakMemory += memory.peakBytes
      task.taskMetrics().incPeakExecutionMemory(memory.peakBytes)
      if (release != null) release()
    }
  }

  private final class Indexed(index: RangeIndex) extends PartitionScan {
    private[this] val cursor = index.cursor(parts.window.best, parts.window.tests.unknown)

    override val scanner: IndexScanner =
      parts.index.create(streamed, cursor, parts.evaluatesKeysIfEmpty)

    override lazy val pairScanner: PairScanner =
      new IndexPairScanner(scanner, index, behavior.preservesStreamed)

    override def close(): Unit = {
      metrics.window.candidates += cursor.candidates
      metrics.buildDataSize += index.estimatedSize
    }
  }

  /** @param refused the row that there was no memory for; null where there was for each of them */
  private final class Sorted(index: IndexBuild, refused: InternalRow) extends PartitionScan {
    logInfo("Not enough memory for the range index of a partition: both sides are sorted instead")
    private[this] val ofBuild = parts.buildSorting.sorter()
    private[this] val ofStreamed = parts.streamedSorting.sorter()

    private[this] val merged: RangeScanner = {
      index.drain(ofBuild.insert)
      if (refused != null) ofBuild.insert(refused.asInstanceOf[UnsafeRow])
      build.foreach(row => ofBuild.insert(row.asInstanceOf[UnsafeRow]))
      val rows = ofBuild.sorted()
      val streamedRows =
        SortedOnDemand(streamed.asInstanceOf[Iterator[UnsafeRow]], ofStreamed)
      parts.window.createScanner(streamedRows, rows)
    }

    override def scanner: CandidateScanner = merged.asInstanceOf[CandidateScanner]

    override def pairScanner: PairScanner = merged.asInstanceOf[PairScanner]

    override def close(): Unit = {
      merged.close()
      metrics.sortedPartitions += 1
      for (sorter <- Seq(ofBuild, ofStreamed)) {
        sorter.cleanupResources()
        metrics.window.peakMemory += sorter.peakMemory
        metrics.window.spillSize += sorter.spillSize
        task.taskMetrics().incPeakExecutionMemory(sorter.peakMemory)
      }
    }
  }
}

/**
 * What tasks need to join a partition.
 *
 * @param mode what the index is made of
 * @param indexLimit bytes of an index at most
 * @param index how it is scanned
 * @param streamedSorting how the streamed side is sorted where there is no memory for it
 * @param buildSorting likewise the side that was to be indexed
 * @param window how they are scanned then
 * @param evaluatesKeysIfEmpty whether the keys of streamed rows are evaluated even if there are no
 *   build rows
 */
case class PartitionJoinFactory(
    mode: RangeIndexMode,
    indexLimit: Long,
    index: IndexScannerFactory,
    streamedSorting: SideSorting,
    buildSorting: SideSorting,
    window: RangeScannerFactory,
    evaluatesKeysIfEmpty: Boolean,
    metrics: PartitionJoinMetrics
) extends PartitionScanFactory {
  def behavior: JoinTypeBehavior = index.behavior

  /** Reads the build side. What it takes is given back with the current task, at the latest. */
  override def create(
      streamed: Iterator[InternalRow],
      build: Iterator[InternalRow]
  ): PartitionJoin = {
    val join = new PartitionJoin(streamed, build, this)
    TaskContext.get().addTaskCompletionListener(new PartitionJoinFactory.CloseWithTask(join))
    join.begin()
  }
}

object PartitionJoinFactory {

  /**
   * Closes a join that is open when its task ends. A task may have several joins, one after another: the reference to
   * one that is closed is dropped, with its index.
   */
  private final class CloseWithTask(private var join: PartitionJoin)
      extends TaskCompletionListener {
    join.onClose(() => join = null)

    override def onTaskCompletion(context: TaskContext): Unit = {
      val open = join
      if (open != null) open.close()
    }
  }
}

/** @param window those of the scan; candidates and memory are counted for an index, too */
case class PartitionJoinMetrics(
    buildDataSize: SQLMetric,
    buildTime: SQLMetric,
    sortedPartitions: SQLMetric,
    window: WindowMetrics
)

/**
 * The order in which a side is scanned where it is sorted, bound to its rows.
 *
 * @param fields number of columns of a row
 * @param level of the sorter, see [[PrefixSorter]]
 */
case class SideSorting(order: Seq[SortOrder], fields: Int, level: Int) {
  def sorter(): PrefixSorter = new PrefixSorter(new SortColumns(order, fields), level)
}

/**
 * Scans an index whose rows are kept: the candidates of one streamed row after the other and, at the end, the rows of
 * the index that were not marked as matched, and those that match nothing at all.
 *
 * Invariant: a row of the index has its mark from its first match on. One bit a row.
 *
 * @param preservesStreamed whether streamed rows without a match come out as well
 */
final class IndexPairScanner(scanner: IndexScanner, index: RangeIndex, preservesStreamed: Boolean)
    extends PairScanner {
  private[this] val marks = new MatchMarks(index.size)
  private[this] val unmatched = new UnsafeRow(index.fields)

  private[this] var streaming = true
  // The position to visit next, among the rows of the index and, behind them, those that match nothing.
  private[this] var next = 0

  override def currentStreamed: InternalRow = if (streaming) scanner.currentStreamed else null

  override def currentCandidate: UnsafeRow =
    if (streaming) scanner.currentCandidate else unmatched

  override def isPair: Boolean = streaming && scanner.currentCandidate != null

  override def isMatch: Boolean = scanner.isMatch

  override def markMatched(): Unit = {
    scanner.markMatched()
    marks.mark(scanner.rowIndex)
  }

  override def nextPair(): Boolean = {
    streaming = streaming && scanner.nextPair(preservesStreamed)
    streaming || nextUnmatched()
  }

  private def nextUnmatched(): Boolean = {
    while (next < index.size && marks.isMarked(next)) next += 1
    val found = next < index.sizeOfAll
    if (found) {
      index.readAny(next, unmatched)
      next += 1
    }
    found
  }
}
