/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

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
