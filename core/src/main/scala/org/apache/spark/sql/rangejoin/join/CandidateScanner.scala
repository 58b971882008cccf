// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, UnsafeRow}
import org.apache.spark.sql.rangejoin.kernel.Guarded

/**
 * Finds candidates for one streamed row after the other. Driven as
 *
 * {{{
 *   while (nextStreamed())
 *     while (nextCandidate()) ...       // or nextCandidateOrNone(), where unmatched rows are kept
 * }}}
 *
 * where both loops may be left at any time; `isScanning` says whether to go on with the inner one.
 *
 * Where a join stops at the first match, what a pair raises goes to `errors`.
 */
trait CandidateScanner extends KilledTask {
  private[this] var matched = false

  /** What pairs of the current streamed row have raised. */
  val errors: ErrorUnlessMatched = new ErrorUnlessMatched

  def currentStreamed: InternalRow

  /** The candidate found last, valid until the next call; null where there is none. */
  def currentCandidate: UnsafeRow

  /** Whether the condition of the join was evaluated for the current candidate, and holds. */
  def isMatch: Boolean

  /** Whether the scan of the current streamed row may have candidates left. */
  def isScanning: Boolean

  /**
   * Goes on to the next streamed row, or to the next that may have candidates, and begins its scan.
   *
   * @return false when there is none
   */
  def nextStreamed(): Boolean

  /** Goes on to the next candidate for the current streamed row; false when there is none. */
  def nextCandidate(): Boolean

  /** Like `nextCandidate`, with one null candidate for a streamed row without a match. */
  def nextCandidateOrNone(): Boolean =
    nextCandidate() || {
      val none = !matched
      matched = true
      if (none) noCandidate()
      none
    }

  /**
   * Goes on to the next candidate of this streamed row or a later one; where rows without a match are preserved, those
   * come with a null candidate. False at the end.
   */
  final def nextPair(preservesStreamed: Boolean): Boolean = {
    var found = false
    while (!found && (isScanning || nextStreamed()))
      found = if (preservesStreamed) nextCandidateOrNone() else nextCandidate()
    found
  }

  /**
   * Goes on to the next candidate where that is simply the next row in memory, and false where it is
   * not, or there is none: the inner loop of generated code.
   */
  def step(): Boolean

  /**
   * Takes a step with a row of the caller, which has to call `keepStep` with it before it calls anything else of the
   * scanner.
   */
  def step(row: UnsafeRow): Boolean

  /** Points a row at the current candidate, which is not null. */
  def beginSteps(row: UnsafeRow): Unit = CandidateScanner.pointTo(row, currentCandidate)

  def keepStep(row: UnsafeRow): Unit

  /** Makes the current candidate null. */
  protected def noCandidate(): Unit

  /** Says that the current candidate is a match. */
  def markMatched(): Unit = matched = true

  /** Forgets what was said and kept of the streamed row before. Fails if the task has been killed. */
  protected def begin(): Unit = {
    checkKilled()
    matched = false
    errors.clear()
  }
}

/** Looks at each streamed row whether the task has been killed, as stock Spark's sort does. */
trait KilledTask {
  // Null in another thread of the task.
  private[this] val task = TaskContext.get()

  /** Fails if the task has been killed. */
  protected def checkKilled(): Unit = if (task != null) task.killTaskIfInterrupted()
}

private[rangejoin] object CandidateScanner {

  def pointTo(target: UnsafeRow, source: UnsafeRow): Unit =
    target.pointTo(source.getBaseObject, source.getBaseOffset, source.getSizeInBytes)
}

/**
 * Finds candidates, and rows without a match, of a join that keeps rows of the side that is not
 * streamed. Driven as
 *
 * {{{
 *   while (nextPair())
 *     if (!isPair || <the residual holds>) ...     // markMatched() where it is a pair that matches
 * }}}
 *
 * where the loop may be left at any time.
 */
trait PairScanner extends KilledTask {

  /** The current streamed row; null where the current candidate has no match. */
  def currentStreamed: InternalRow

  /** The current row of the other side; null where the streamed row has no match. */
  def currentCandidate: UnsafeRow

  /** Whether the current rows are a candidate, and not a row without a match. */
  def isPair: Boolean

  /** Whether the condition of the join was evaluated for the current candidate, and holds. */
  def isMatch: Boolean

  /** Says that the current candidate is a match. */
  def markMatched(): Unit

  /** Goes on to the next candidate or row without a match; false at the end of both sides. */
  def nextPair(): Boolean
}

/**
 * The error of a streamed row, raised unless the row has a match.
 *
 * A join that stops at the first match must not raise for a pair that stock Spark, whose rows of a key come in another
 * order, has no need to test. The first error of a pair is therefore kept until it is known that the streamed row has
 * no match, in which case stock Spark tests every pair as well.
 */
final class ErrorUnlessMatched {
  private[this] var kept: Throwable = _

  /** Forgets what was kept of the streamed row before. */
  def clear(): Unit = kept = null

  /** Keeps the error of a pair, unless it is no error of the data, which is raised at once. */
  def keep(error: Throwable): Unit = {
    Guarded.rethrowUnlessOfData(error)
    if (kept == null) kept = error
  }

  /** Raises what was kept: the streamed row has no match. */
  def raise(): Unit = if (kept != null) throw kept

  /** Whether a predicate holds for a pair; it does not where it raises, and the error is kept. */
  def holds(predicate: BasePredicate, pair: InternalRow): Boolean =
    try predicate.eval(pair)
    catch {
      case e: Throwable =>
        keep(e)
        false
    }
}
