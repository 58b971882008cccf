// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.rangejoin.condition.{
  AfterStreamed,
  EveryPair,
  JoinTypeBehavior,
  MatchFlag,
  StreamedRow
}

/** The interpreted join: drives a scanner one output row at a time. */
abstract class RangeJoinIterator(output: JoinOutput) extends Iterator[InternalRow] {
  private[this] var found = false
  private[this] var finished = false

  /** Goes on to the next output row; false when there is none. */
  protected def findNext(): Boolean

  /** The row that `findNext` found. */
  protected def current: InternalRow

  override def hasNext: Boolean = {
    if (!found && !finished) {
      found = findNext()
      finished = !found
    }
    found
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("the range join has no more rows")
    found = false
    output.numOutputRows += 1
    current
  }
}

object RangeJoinIterator {

  /** The rows that come of streamed rows, in a join that marks no rows of the other side. */
  def apply(
      scanner: CandidateScanner,
      behavior: JoinTypeBehavior,
      output: JoinOutput
  ): RangeJoinIterator = behavior.emission match {
    case EveryPair              => new PairIterator(scanner, behavior.preservesStreamed, output)
    case StreamedRow(ifMatched) => new StreamedRowIterator(scanner, ifMatched, output)
    case MatchFlag              => new MatchFlagIterator(scanner, output)
    case after: AfterStreamed   => after.notOfStreamed
  }
}

/** Inner, left and right outer joins. */
private final class PairIterator(
    scanner: CandidateScanner,
    preservesStreamed: Boolean,
    output: JoinOutput
) extends RangeJoinIterator(output) {

  override protected def findNext(): Boolean = {
    while (scanner.isScanning || scanner.nextStreamed()) {
      while (nextCandidate()) {
        if (scanner.currentCandidate == null) return true
        if (scanner.isMatch ||
          output.matches(scanner.currentStreamed, scanner.currentCandidate)) {
          scanner.markMatched()
          return true
        }
      }
    }
    false
  }

  private def nextCandidate(): Boolean =
    if (preservesStreamed) scanner.nextCandidateOrNone() else scanner.nextCandidate()

  override protected def current: InternalRow =
    output(scanner.currentStreamed, scanner.currentCandidate)
}

/** Joins that look for one match of every streamed row. */
private sealed abstract class FirstMatchIterator(scanner: CandidateScanner, output: JoinOutput)
    extends RangeJoinIterator(output) {

  protected def hasMatch: Boolean = {
    var found = false
    while (!found && scanner.nextCandidate()) {
      found = scanner.isMatch ||
        output.matches(scanner.currentStreamed, scanner.currentCandidate, scanner.errors)
    }
    if (!found) scanner.errors.raise()
    found
  }
}

/** Semi and anti joins. */
private final class StreamedRowIterator(
    scanner: CandidateScanner,
    ifMatched: Boolean,
    output: JoinOutput
) extends FirstMatchIterator(scanner, output) {

  override protected def findNext(): Boolean = {
    var found = false
    while (!found && scanner.nextStreamed()) found = hasMatch == ifMatched
    found
  }

  override protected def current: InternalRow = output(scanner.currentStreamed, null)
}

/** Existence joins. */
private final class MatchFlagIterator(scanner: CandidateScanner, output: JoinOutput)
    extends FirstMatchIterator(scanner, output) {

  private[this] val flag = new GenericInternalRow(1)

  override protected def findNext(): Boolean = scanner.nextStreamed() && {
    flag.setBoolean(0, hasMatch)
    true
  }

  override protected def current: InternalRow = output(scanner.currentStreamed, flag)
}

/** Joins that keep rows of the side that is not streamed. */
final class PairScannerIterator(scanner: PairScanner, output: JoinOutput)
    extends RangeJoinIterator(output) {

  override protected def findNext(): Boolean = {
    while (scanner.nextPair()) {
      if (!scanner.isPair) return true
      if (scanner.isMatch ||
        output.matches(scanner.currentStreamed, scanner.currentCandidate)) {
        scanner.markMatched()
        return true
      }
    }
    false
  }

  override protected def current: InternalRow =
    output(scanner.currentStreamed, scanner.currentCandidate)
}
