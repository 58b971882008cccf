// SPDX-License-Identifier: Apache-2.0

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
