// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.scan

import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  Attribute,
  BasePredicate,
  Expression,
  Literal,
  SortOrder
}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.{JoinTypeBehavior, MonotoneColumn, Side}
import org.apache.spark.sql.rangejoin.join.{PairPredicate, PairTests, TwoInputRangeJoinExec}
import org.apache.spark.sql.rangejoin.kernel.{
  KernelSpec,
  RangeBound,
  RangeJoinKernel,
  RangeJoinKernelFactory
}
import org.apache.spark.sql.rangejoin.shims.WindowBytes
import org.apache.spark.sql.rangejoin.window._
import org.apache.spark.{SparkContext, SparkEnv, TaskContext}

/**
 * What tasks need to make their scanner.
 *
 * @param bufferedFields number of columns of a buffered row
 * @param keepsOrder whether streamed rows come out in the order they come in, also those of a key with few rows
 * @param best which matches of a streamed row are wanted; None for all of them
 */
case class RangeScannerFactory(
    kernel: KernelSpec,
    bufferedFields: Int,
    tests: PairTests[Expression],
    behavior: JoinTypeBehavior,
    limits: WindowLimits,
    metrics: WindowMetrics,
    keepsOrder: Boolean,
    best: Option[BestOrder] = None
) {

  /** The scanner of the join: a `PairScanner` where it keeps buffered rows, else a `CandidateScanner`. */
  def createScanner(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): RangeScanner =
    if (behavior.preservesBuffered) createBufferedPreserving(streamed, buffered)
    else create(streamed, buffered)

  /**
   * A scanner for a join that keeps no buffered rows, which belongs to the current task and is closed with
   * it, however it ends.
   */
  def create(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): StreamedRangeScanner =
    closedWithTask(StreamedRangeScanner(streamed, buffered, parts, behavior))

  /** A scanner for a join that keeps buffered rows; closed with the current task as well. */
  def createBufferedPreserving(
      streamed: Iterator[InternalRow],
      buffered: Iterator[InternalRow]
  ): BufferedPreservingScanner =
    closedWithTask(
      new BufferedPreservingScanner(streamed, buffered, parts, behavior.preservesStreamed))

  private def parts: ScannerParts = ScannerParts(
    RangeJoinKernelFactory.createObject(kernel),
    createWindow(TaskContext.get().taskMemoryManager()),
    bufferedFields,
    tests.map(PairPredicate.create),
    metrics,
    kernel.streamedKeys.size,
    keepsOrder,
    best
  )

  private def closedWithTask[S <: RangeScanner](scanner: S): S = {
    TaskContext.get().addTaskCompletionListener[Unit] { context =>
      scanner.close()
      scanner.reportMemory(context.taskMetrics())
    }
    scanner
  }

  private def createWindow(tasks: TaskMemoryManager): RangeWindow = {
    val env = SparkEnv.get
    val memory = new WindowMemory(tasks)
    new RangeWindow(
      memory,
      new PagedRowStore(memory, tasks, env.memoryManager.pageSizeBytes),
      new SpillFiles(
        env.serializerManager,
        () => env.blockManager.diskBlockManager.createTempLocalBlock()),
      limits
    )
  }
}

object RangeScannerFactory {

  /**
   * From the settings for the buffer of Spark's sort-merge join, which keeps rows in memory up to the one threshold,
   * and then up to the other.
   */
  def limits(conf: SQLConf): WindowLimits = WindowLimits(
    rows = Seq(
      1,
      conf.sortMergeJoinExecBufferInMemoryThreshold,
      conf.sortMergeJoinExecBufferSpillThreshold).max,
    bytes = WindowBytes.of(conf))
}

/** A range join that scans both sides sorted, be it for lack of memory to do otherwise. */
trait SortedScanExec extends TwoInputRangeJoinExec {

  /** The column of a side that holds the bound that it is sorted by; None where no column was added for it. */
  protected def rangeKey(side: Side): Option[Attribute]

  protected def scannerFactory(keepsOrder: Boolean): RangeScannerFactory = {
    def ofStreamed(e: Expression) = bindReference(e, streamedPlan.output)
    def ofOther(e: Expression) = bindReference(e, otherPlan.output)
    // Where the range key is the bound it need not be evaluated again.
    def known(bound: RangeBound, side: Side): Expression =
      rangeKey(side).filter(_ => bound.isLossless).getOrElse(bound)
    RangeScannerFactory(
      KernelSpec(
        streamedKeys.map(ofStreamed),
        otherKeys.map(ofOther),
        lower = range.lowerBound.map(bound => ofStreamed(known(bound, streamedSide))),
        upper = range.upperBound.map(ofStreamed),
        sortBound = range.sortBound.map(bound => ofOther(known(bound, streamedSide.other))),
        evictBound = range.evictBound.map(ofOther)
      ),
      otherPlan.output.size,
      PairTests.of(range, condition.getOrElse(Literal.TrueLiteral), best.isDefined)
        .map(bindReference(_, streamedPlan.output ++ otherPlan.output)),
      behavior,
      RangeScannerFactory.limits(conf),
      WindowMetrics.of(metrics),
      keepsOrder,
      bestOrder.map(_.bound(ofStreamed))
    )
  }
}

/**
 * What a scanner works with.
 *
 * @param bufferedFields number of columns of a buffered row
 * @param keys number of keys
 * @param keepsOrder whether streamed rows come out in the order they come in, also those of a key with few rows
 * @param best which matches of a streamed row are wanted; None for all of them
 */
final case class ScannerParts(
    kernel: RangeJoinKernel,
    window: RangeWindow,
    bufferedFields: Int,
    tests: PairTests[BasePredicate],
    metrics: WindowMetrics,
    keys: Int,
    keepsOrder: Boolean,
    best: Option[BestOrder])

/** The order in which the sides of a scan come. */
object ScanOrder {

  /**
   * The order by the keys of a side, then by its bound, if it has one.
   *
   * @param rangeKey the column that holds the bound, where there is one
   */
  def of(
      keys: Seq[Expression],
      bound: Option[RangeBound],
      rangeKey: Option[Attribute] = None
  ): Seq[SortOrder] = {
    val within = rangeKey.orElse(bound.map(b => MonotoneColumn.of(b).getOrElse(b.sortKey)))
    (keys ++ within).map(SortOrder(_, Ascending))
  }
}

/** The metrics of a scan; tasks report them once, when they are done with the window. */
case class WindowMetrics(
    candidates: SQLMetric,
    evictedRows: SQLMetric,
    peakWindowRows: SQLMetric,
    peakMemory: SQLMetric,
    spillSize: SQLMetric,
    spilledRows: SQLMetric
) {

  def report(candidates: Long, evicted: Long, window: RangeWindow): Unit = {
    this.candidates += candidates
    evictedRows += evicted
    peakWindowRows += window.peakRows
    peakMemory += window.peakMemory
    spillSize += window.spillSize
    spilledRows += window.spilledRows
  }
}

object WindowMetrics {

  /**
   * The metrics a range join shows, by their names. Peaks are the sums over tasks, as everywhere in
   * Spark; candidates against output rows tells what the range saves.
   */
  def create(context: SparkContext): Map[String, SQLMetric] = Map(
    "numOutputRows" -> SQLMetrics.createMetric(context, "number of output rows"),
    "numCandidates" -> SQLMetrics.createMetric(context, "number of candidates examined"),
    "numEvictedRows" -> SQLMetrics.createMetric(context, "number of rows evicted"),
    "peakWindowRows" -> SQLMetrics.createMetric(context, "peak window rows"),
    "peakMemory" -> SQLMetrics.createSizeMetric(context, "peak memory"),
    "spillSize" -> SQLMetrics.createSizeMetric(context, "spill size"),
    "spilledRows" -> SQLMetrics.createMetric(context, "number of rows spilled")
  )

  def of(metrics: Map[String, SQLMetric]): WindowMetrics = WindowMetrics(
    metrics("numCandidates"),
    metrics("numEvictedRows"),
    metrics("peakWindowRows"),
    metrics("peakMemory"),
    metrics("spillSize"),
    metrics("spilledRows")
  )
}
