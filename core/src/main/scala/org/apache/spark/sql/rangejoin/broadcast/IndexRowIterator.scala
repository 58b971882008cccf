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

package org.apache.spark.sql.rangejoin.broadcast

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.rangejoin.condition._
import org.apache.spark.sql.rangejoin.index._
import org.apache.spark.sql.rangejoin.join.{JoinOutput, RangeJoinIterator}

/** Rows of a part of the index, by their marks. */
private[broadcast] final class IndexRowIterator(
    index: RangeIndex,
    first: Int,
    end: Int,
    marks: MatchMarks,
    emission: Emission,
    output: JoinOutput
) extends RangeJoinIterator(output) {
  private[this] val row = new UnsafeRow(index.fields)
  private[this] val flag = if (emission == BufferedFlag) new GenericInternalRow(1) else null
  private[this] var next = first

  override protected def findNext(): Boolean = {
    while (next < end && !isWanted(marks.isMarked(next - first))) next += 1
    val found = next < end
    if (found) {
      index.readAny(next, row)
      if (flag != null) flag.setBoolean(0, marks.isMarked(next - first))
      next += 1
    }
    found
  }

  private def isWanted(marked: Boolean): Boolean = emission match {
    case BufferedFlag           => true
    case BufferedRow(ifMatched) => marked == ifMatched
    case _                      => !marked
  }

  /** The flag of an existence join stands where the streamed row would. */
  override protected def current: InternalRow = output(flag, row)
}
