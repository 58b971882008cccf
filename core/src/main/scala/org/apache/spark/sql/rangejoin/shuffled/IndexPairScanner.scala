// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.index.{IndexScanner, MatchMarks, RangeIndex}
import org.apache.spark.sql.rangejoin.join.PairScanner

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
    streaming = streaming && nextOfStreamed()
    streaming || nextUnmatched()
  }

  private def nextOfStreamed(): Boolean = {
    var found = false
    while (!found && (scanner.isScanning || scanner.nextStreamed())) {
      found = if (preservesStreamed) scanner.nextCandidateOrNone() else scanner.nextCandidate()
    }
    found
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
