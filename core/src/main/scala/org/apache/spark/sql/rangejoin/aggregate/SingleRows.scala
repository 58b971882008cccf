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
import org.apache.spark.sql.rangejoin.reduce.RunAggregates

/** Rows that are pairs already, each as a streamed row with one match. */
private[aggregate] final class SingleRows(rows: Iterator[InternalRow]) extends CandidateScanner {
  private[this] var current: InternalRow = _

  override def currentStreamed: InternalRow = current

  override def nextStreamed(): Boolean = rows.hasNext && {
    current = rows.next()
    true
  }

  override def aggregateRun(runs: RunAggregates): Int = 1

  override def currentCandidate: UnsafeRow = null

  override def isMatch: Boolean = false

  override def isScanning: Boolean = false

  override def nextCandidate(): Boolean = false

  override def step(): Boolean = false

  override def step(row: UnsafeRow): Boolean = false

  override def keepStep(row: UnsafeRow): Unit = ()

  override protected def noCandidate(): Unit = ()
}
