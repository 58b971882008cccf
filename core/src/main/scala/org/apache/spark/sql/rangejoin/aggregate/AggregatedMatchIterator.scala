// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.rangejoin.join.{CandidateScanner, PairPredicate}
import org.apache.spark.util.TaskCompletionListener

/** Drives a scanner, one streamed row at a time. */
private[aggregate] final class AggregatedMatchIterator(
    scanner: CandidateScanner,
    parts: AggregatedMatchIteratorFactory)
    extends Iterator[InternalRow] {
  import parts.{metrics, ofBuffered, preservesStreamed}

  private[this] val readsBuffered = !ofBuffered.isEmpty
  private[this] val test = parts.residual.map(PairPredicate.create).orNull
  private[this] val pair = new JoinedRow
  private[this] val runs = new RunAggregates(ofBuffered, TaskContext.get().taskMemoryManager())
  private[this] val known =
    if (test == null) null
    else new KnownResults(parts.condition, TaskContext.get().taskMemoryManager())
  // Not every reader of the rows reads them to the end.
  TaskContext.get().addTaskCompletionListener(new TaskCompletionListener {
    override def onTaskCompletion(context: TaskContext): Unit = close()
  })
  private[this] val single = MatchAggregator.create(ofBuffered)
  private[this] val repeated = new RepeatedAggregator(parts.ofStreamed)
  private[this] val noMatch = new GenericInternalRow(parts.bufferedFields)
  private[this] val output = UnsafeProjection.create(parts.grouping ++ parts.order)
  private[this] val buffers = new JoinedRow
  private[this] val joined = new JoinedRow
  private[this] var current: InternalRow = _
  private[this] var finished = false

  private def close(): Unit = {
    runs.close()
    if (known != null) known.close()
  }

  override def hasNext: Boolean = {
    while (current == null && !finished) findNext()
    current != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("the aggregated matches have no more rows")
    val row = current
    current = null
    metrics.rows += 1
    row
  }

  private def findNext(): Unit =
    if (!scanner.nextStreamed()) {
      finished = true
      close()
    } else {
      val ofRun = if (test == null) aggregateRun() else -1
      val before = if (known == null) null else known.get(scanner.currentStreamed)
      val matches =
        if (ofRun >= 0) ofRun.toLong else if (before != null) before.matches else aggregatePairs()
      metrics.matches += matches
      val isUnmatched = matches == 0L && preservesStreamed
      if (isUnmatched) {
        single.clear()
        single.update(noMatch)
      }
      if (matches > 0L || isUnmatched) {
        val fromBuffered =
          if (readsBuffered && ofRun > 0) runs.result
          else if (before != null && !isUnmatched) before.buffer
          else single.result()
        val fromStreamed = repeated.aggregate(scanner.currentStreamed, math.max(matches, 1L))
        current =
          output(joined(scanner.currentStreamed, buffers(fromStreamed, fromBuffered)))
      }
    }

  private def aggregateRun(): Int = scanner match {
    case ofRuns: RunScanner => ofRuns.aggregateRun(runs)
    case _                  => -1
  }

  private def aggregatePairs(): Long = {
    single.clear()
    var pairs = 0L
    var matches = 0L
    while (scanner.nextCandidate()) {
      pairs += 1
      val candidate = scanner.currentCandidate
      if (test == null || scanner.isMatch || test.eval(pair(scanner.currentStreamed, candidate))) {
        if (readsBuffered) single.update(candidate)
        matches += 1
      }
    }
    metrics.pairs += pairs
    if (known != null) known.put(matches, single)
    matches
  }
}
