// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.join.CandidateScanner

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
