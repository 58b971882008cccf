// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.best

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowJoiner

/**
 * The first rows of each run of rows that have one number, in their order, with their rank.
 *
 * Rows that are equal in the order keep the order they came in. A row that comes out is valid up to the next.
 *
 * @param rows those of a run follow one another
 * @param number the column that tells runs apart, a BIGINT that is never NULL
 * @param limit how many rows of a run come out at most
 * @param withRank adds the rank, from one on, to a row
 */
private[best] final class FirstOfRuns(
    rows: Iterator[InternalRow],
    number: Int,
    order: Ordering[InternalRow],
    limit: Int,
    withRank: UnsafeRowJoiner)
    extends Iterator[InternalRow] {
  private[this] var first = new Array[UnsafeRow](math.min(limit, 8))
  private[this] val rank = UnsafeRow.createFromByteArray(16, 1)

  private[this] var kept = 0
  private[this] var taken = 0
  // The head of the next run, as the source has it.
  private[this] var head: UnsafeRow = nextRow()

  override def hasNext: Boolean = taken < kept || head != null

  override def next(): InternalRow = {
    if (taken == kept) readRun()
    rank.setInt(0, taken + 1)
    val row = first(taken)
    taken += 1
    withRank.join(row, rank)
  }

  private def nextRow(): UnsafeRow =
    if (rows.hasNext) rows.next().asInstanceOf[UnsafeRow] else null

  private def readRun(): Unit = {
    if (head == null) throw new NoSuchElementException
    val run = head.getLong(number)
    kept = 0
    taken = 0
    while ({
      add(head)
      head = nextRow()
      head != null && head.getLong(number) == run
    }) {}
  }

  /** Keeps a copy, if no more than `limit - 1` rows are before it. */
  private def add(row: UnsafeRow): Unit =
    if (kept < limit || order.compare(row, first(kept - 1)) < 0) {
      if (kept == first.length && kept < limit) first = first.padTo(math.min(limit, 2 * kept), null)
      if (kept < limit) kept += 1
      // The slot of the last one is free, or that of the one that is no longer wanted.
      val last = first(kept - 1)
      val copy =
        if (last != null) last
        else UnsafeRow.createFromByteArray(row.getSizeInBytes, row.numFields)
      copy.copyFrom(row)
      var at = kept - 1
      while (at > 0 && order.compare(row, first(at - 1)) < 0) {
        first(at) = first(at - 1)
        at -= 1
      }
      first(at) = copy
    }
}
