// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.rangejoin.condition.{
  AfterStreamed,
  Emission,
  EveryPair,
  JoinTypeBehavior,
  MatchFlag,
  StreamedRow
}

/** The interpreted join: drives a scanner one output row at a time. */
abstract class RangeJoinIterator(numOutputRows: SQLMetric) extends Iterator[InternalRow] {
  private[this] var found: InternalRow = _
  private[this] var finished = false

  /** The next output row, valid until the next call; null when there is none. */
  protected def findNext(): InternalRow

  override def hasNext: Boolean = {
    if (found == null && !finished) {
      found = findNext()
      finished = found == null
    }
    found != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("the range join has no more rows")
    val row = found
    found = null
    numOutputRows += 1
    row
  }
}

object RangeJoinIterator {

  /** The rows that come of streamed rows, in a join that marks no rows of the other side. */
  def apply(
      scanner: CandidateScanner,
      behavior: JoinTypeBehavior,
      output: JoinOutput
  ): RangeJoinIterator = behavior.emission match {
    case EveryPair                  => new PairIterator(scanner, behavior.preservesStreamed, output)
    case StreamedRow(_) | MatchFlag => new FirstMatchIterator(scanner, behavior.emission, output)
    case after: AfterStreamed       => after.notOfStreamed
  }

  /** The rows of a join that keeps rows of the side that is not streamed. */
  def apply(scanner: PairScanner, output: JoinOutput): RangeJoinIterator =
    new PairScannerIterator(scanner, output)
}

/** Inner, left and right outer joins. */
private final class PairIterator(
    scanner: CandidateScanner,
    preservesStreamed: Boolean,
    output: JoinOutput
) extends RangeJoinIterator(output.numOutputRows) {

  override protected def findNext(): InternalRow = {
    while (scanner.nextPair(preservesStreamed)) {
      val streamed = scanner.currentStreamed
      val candidate = scanner.currentCandidate
      if (candidate == null) return output(streamed, null)
      if (scanner.isMatch || output.matches(streamed, candidate)) {
        scanner.markMatched()
        return output(streamed, candidate)
      }
    }
    null
  }
}

/** Semi, anti and existence joins, which look for one match of every streamed row. */
private final class FirstMatchIterator(
    scanner: CandidateScanner,
    emission: Emission,
    output: JoinOutput
) extends RangeJoinIterator(output.numOutputRows) {
  // Null where it is the streamed row that comes out.
  private[this] val flag = if (emission == MatchFlag) new GenericInternalRow(1) else null
  private[this] val ifMatched = emission == StreamedRow(true)

  override protected def findNext(): InternalRow = {
    while (scanner.nextStreamed()) {
      val matched = hasMatch
      if (flag != null) flag.setBoolean(0, matched)
      if (flag != null || matched == ifMatched) return output(scanner.currentStreamed, flag)
    }
    null
  }

  private def hasMatch: Boolean = {
    var found = false
    while (!found && scanner.nextCandidate()) {
      found = scanner.isMatch ||
        output.matches(scanner.currentStreamed, scanner.currentCandidate, scanner.errors)
    }
    if (!found) scanner.errors.raise()
    found
  }
}

/** Joins that keep rows of the side that is not streamed. */
private final class PairScannerIterator(scanner: PairScanner, output: JoinOutput)
    extends RangeJoinIterator(output.numOutputRows) {

  override protected def findNext(): InternalRow = {
    while (scanner.nextPair()) {
      val streamed = scanner.currentStreamed
      val candidate = scanner.currentCandidate
      if (!scanner.isPair) return output(streamed, candidate)
      if (scanner.isMatch || output.matches(streamed, candidate)) {
        scanner.markMatched()
        return output(streamed, candidate)
      }
    }
    null
  }
}
