// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.join.{CandidateScanner, PairPredicate, RangeJoinIterator}

/** Drives a scanner, one streamed row at a time. */
private[aggregate] final class AggregatedMatchIterator(
    scanner: CandidateScanner,
    parts: AggregatedMatchIteratorFactory)
    extends RangeJoinIterator(parts.metrics.rows) {
  import parts.{metrics, ofBuffered, preservesStreamed}

  private[this] val readsBuffered = !ofBuffered.isEmpty
  private[this] val test = parts.residual.map(PairPredicate.create).orNull
  private[this] val pair = new JoinedRow
  // Null where no window is a part of a run.
  private[this] val windows =
    if (parts.windows.isEmpty) null
    else new WindowedRuns(ofBuffered, parts.windows, TaskContext.get().taskMemoryManager())
  private[this] val runs =
    if (windows != null) windows
    else new RunAggregates(ofBuffered, TaskContext.get().taskMemoryManager())
  private[this] val hasWindows = !parts.ofPairs.isEmpty
  // Of windows, where pairs are visited one by one.
  private[this] val windowed = MatchAggregator.create(parts.ofPairs)
  private[this] val known =
    if (test == null || hasWindows) null
    else new KnownResults(parts.condition, TaskContext.get().taskMemoryManager())
  // Not every reader of the rows reads them to the end.
  TaskContext.get().addTaskCompletionListener[Unit](_ => close())
  private[this] val single = MatchAggregator.create(ofBuffered)
  private[this] val repeated = new RepeatedAggregator(parts.ofStreamed)
  private[this] val noMatch = new GenericInternalRow(parts.bufferedFields)
  private[this] val output = UnsafeProjection.create(parts.grouping ++ parts.order)
  private[this] val buffers = new JoinedRow
  private[this] val all = new JoinedRow
  private[this] val joined = new JoinedRow

  private def close(): Unit = {
    runs.close()
    if (known != null) known.close()
  }

  override protected def findNext(): InternalRow = {
    var row: InternalRow = null
    while (row == null && scanner.nextStreamed()) row = ofStreamedRow()
    if (row == null) close()
    row
  }

  /** The row of the current streamed row; null where none comes out. */
  private def ofStreamedRow(): InternalRow = {
    val ofRun = if (test == null) aggregateRun() else -1
    val before = if (known == null) null else known.get(scanner.currentStreamed)
    val matches =
      if (ofRun >= 0) ofRun.toLong else if (before != null) before.matches else aggregatePairs()
    metrics.matches += matches
    val isUnmatched = matches == 0L && preservesStreamed
    if (isUnmatched) {
      single.clear()
      single.update(noMatch)
      windowed.clear()
      if (hasWindows) windowed.update(pair(scanner.currentStreamed, noMatch))
    }
    if (matches == 0L && !isUnmatched) null
    else {
      val fromBuffered =
        if (readsBuffered && ofRun > 0) runs.result
        else if (before != null && !isUnmatched) before.buffer
        else single.result()
      val fromStreamed = repeated.aggregate(scanner.currentStreamed, math.max(matches, 1L))
      val ofSides = buffers(fromStreamed, fromBuffered)
      output(joined(scanner.currentStreamed, withWindows(ofSides, ofRun)))
    }
  }

  private def aggregateRun(): Int = scanner match {
    case ofRuns: RunScanner if !hasWindows || ofRuns.mayBeRun && areWindowsKnown =>
      ofRuns.aggregateRun(runs)
    case _ => -1
  }

  private def areWindowsKnown: Boolean =
    windows != null && windows.begin(scanner.currentStreamed)

  private def withWindows(row: InternalRow, ofRun: Int): InternalRow =
    if (!hasWindows) row
    else if (ofRun > 0) all(row, windows.results(scanner.currentStreamed, ofRun))
    else all(row, windowed.result())

  private def aggregatePairs(): Long = {
    single.clear()
    windowed.clear()
    var pairs = 0L
    var matches = 0L
    while (scanner.nextCandidate()) {
      pairs += 1
      val candidate = scanner.currentCandidate
      if (test == null || scanner.isMatch || test.eval(pair(scanner.currentStreamed, candidate))) {
        if (readsBuffered) single.update(candidate)
        if (hasWindows) windowed.update(pair(scanner.currentStreamed, candidate))
        matches += 1
      }
    }
    metrics.pairs += pairs
    if (known != null) known.put(matches, single)
    matches
  }
}

/**
 * Creates the iterator over the aggregated matches of streamed rows, in a task.
 *
 * @param grouping bound to the streamed row
 * @param ofStreamed functions of the streamed row, and of no column
 * @param ofBuffered functions of the buffered row
 * @param windows functions of windows of their own, group by group; empty where pairs have to be visited for them
 * @param ofPairs the same functions, of the streamed row followed by the buffered row
 * @param order the buffers in their order, bound to the streamed row and then the buffers of each kind
 * @param residual bound to the streamed row followed by the buffered row
 * @param condition the columns of the streamed row that determine its matches
 * @param preservesStreamed whether a streamed row without a match is aggregated as if it had one match of NULLs
 */
final case class AggregatedMatchIteratorFactory(
    grouping: Seq[Expression],
    ofStreamed: MatchAggregation,
    ofBuffered: MatchAggregation,
    windows: Seq[RunWindow],
    ofPairs: MatchAggregation,
    order: Seq[BoundReference],
    residual: Option[Expression],
    condition: Seq[Expression],
    preservesStreamed: Boolean,
    bufferedFields: Int,
    metrics: AggregatedMatchIteratorFactory.Metrics) {

  /** The rows of a scan: one for each streamed row that has a match, or is kept. */
  def rows(scanner: CandidateScanner): Iterator[InternalRow] =
    new AggregatedMatchIterator(scanner, this)
}

object AggregatedMatchIteratorFactory {

  /**
   * @param matches counts the pairs that were aggregated
   * @param pairs counts those that were visited one by one
   */
  final case class Metrics(rows: SQLMetric, matches: SQLMetric, pairs: SQLMetric)
}

/** A scanner whose candidates may be a run. */
trait RunScanner extends CandidateScanner {

  /** Whether the candidates of the current streamed row may be a run, as far as that is known without looking at it. */
  def mayBeRun: Boolean

  /**
   * Aggregates the candidates of the current streamed row and ends its scan, if all of them are matches by their bounds
   * and one run of rows; otherwise does nothing. Called before the first `nextCandidate`.
   *
   * @return the number of matches; -1 if they have to be visited one by one
   */
  def aggregateRun(runs: RunAggregates): Int
}

/**
 * Rows that are pairs already: each by itself, as a streamed row with one match, or those of a streamed row together,
 * which come one after the other.
 *
 * @param number the column that numbers streamed rows, if pairs are to be together
 */
private[aggregate] final class PairRuns(pairs: Iterator[UnsafeRow], number: Option[Int])
    extends CandidateScanner {
  private[this] var first: UnsafeRow = _
  private[this] var candidate: UnsafeRow = _
  // The first row of the next run, read already.
  private[this] var next: UnsafeRow = _

  override def currentStreamed: InternalRow = first

  override def currentCandidate: UnsafeRow = candidate

  override def nextStreamed(): Boolean = {
    first = if (next != null) next else if (pairs.hasNext) pairs.next().copy() else null
    next = null
    candidate = null
    first != null
  }

  override def nextCandidate(): Boolean = {
    if (candidate == null) candidate = first
    else if (next == null && number.isDefined && pairs.hasNext) {
      val pair = pairs.next()
      if (pair.getLong(number.get) == first.getLong(number.get)) candidate = pair
      else next = pair.copy()
    } else return false
    next == null
  }

  override def isMatch: Boolean = false

  override def isScanning: Boolean = false

  override def step(): Boolean = false

  override def step(row: UnsafeRow): Boolean = false

  override def keepStep(row: UnsafeRow): Unit = ()

  override protected def noCandidate(): Unit = ()
}

/**
 * Aggregates one row as many times as it has matches: for functions of the streamed side, and `count(*)`. It merges
 * buffers of 1, 2, 4, ... times the row, and never makes one of more rows than the result.
 */
final class RepeatedAggregator(aggregation: MatchAggregation) {
  private[this] val power = MatchAggregator.create(aggregation)
  private[this] val sum = MatchAggregator.create(aggregation)

  /** @param times at least once */
  def aggregate(row: InternalRow, times: Long): UnsafeRow = {
    power.clear()
    power.update(row)
    if (times == 1L) power.result()
    else if (aggregation.countsOnly) {
      val counts = power.result()
      CountBuffers.multiply(counts, times)
      counts
    } else summed(times)
  }

  private def summed(times: Long): UnsafeRow = {
    sum.clear()
    var left = times
    while (left != 0L) {
      if ((left & 1L) != 0L) sum.merge(power.result())
      left >>>= 1
      if (left != 0L) power.merge(power.result().copy())
    }
    sum.result()
  }
}
