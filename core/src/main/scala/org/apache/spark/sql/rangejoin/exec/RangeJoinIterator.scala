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

package org.apache.spark.sql.rangejoin.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, JoinedRow, UnsafeProjection}
import org.apache.spark.sql.execution.metric.SQLMetric

/**
 * The interpreted join: drives the scanner one output row at a time.
 *
 * @param residual over the streamed row followed by the buffered row
 * @param result over the left row followed by the right row
 */
final class RangeJoinIterator(
    scanner: RangeScanner,
    residual: Option[BasePredicate],
    result: UnsafeProjection,
    streamLeft: Boolean,
    numOutputRows: SQLMetric
) extends Iterator[InternalRow] {

  private[this] val pair = new JoinedRow
  private[this] val joined = new JoinedRow
  private[this] val check = residual.orNull
  private[this] var found = false
  private[this] var finished = false

  override def hasNext: Boolean = {
    while (!found && !finished) {
      if (!scanner.isScanning && !scanner.nextStreamed()) {
        finished = true
      } else if (scanner.nextCandidate()) {
        found = check == null ||
          check.eval(pair(scanner.currentStreamed, scanner.currentCandidate))
      }
    }
    found
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("the range join has no more rows")
    found = false
    numOutputRows += 1
    result(
      if (streamLeft) joined(scanner.currentStreamed, scanner.currentCandidate)
      else joined(scanner.currentCandidate, scanner.currentStreamed)
    )
  }
}
