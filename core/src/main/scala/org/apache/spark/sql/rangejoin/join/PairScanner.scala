// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

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
trait PairScanner {

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
