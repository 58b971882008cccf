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

package org.apache.spark.sql.rangejoin.prepared

import org.apache.spark.rdd.InputFileBlockHolder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Rows that are said to be in order, one at a time. Keeps the sort columns of the current one, to check
 * the order and for a merge to compare: the rows themselves are overwritten as the source goes on.
 *
 * @param key of no other source
 * @param outOfOrder the error where a row is less than the one before
 */
private[prepared] final class SortedSource(
    rows: Iterator[UnsafeRow],
    private val key: SortKey,
    outOfOrder: () => Throwable
) extends Iterator[InternalRow] {

  /** The current row; null before the first and after the last. */
  var row: UnsafeRow = _

  private[this] var isOpen = false

  /**
   * The first call opens the file, which says so to `input_file_name`. A sort in this place would have
   * read all files, after which there is none.
   */
  override def hasNext: Boolean =
    if (isOpen) rows.hasNext
    else {
      isOpen = true
      val more = rows.hasNext
      InputFileBlockHolder.unset()
      more
    }

  override def next(): UnsafeRow = {
    row = rows.next()
    if (!key.moveTo(row)) throw outOfOrder()
    row
  }

  /** Goes on to the next row, if there is one. */
  def advance(): Unit = row = if (hasNext) next() else null

  /** Whether its row comes before that of another; after the last row nothing does. */
  def isBefore(other: SortedSource): Boolean =
    row != null && (other.row == null || key.compareTo(other.key) < 0)
}

/**
 * The rows of several sources in the order of all, by a tree of losers: the source whose row was taken
 * plays its next one against those it has beaten, a comparison for each level. Of equal rows any comes
 * first.
 */
private[prepared] final class MergeIterator(sources: Array[SortedSource])
    extends Iterator[InternalRow] {
  private[this] val leaves = sources.length

  // By inner node, from 1 on, the source that has lost there. The children of node n are 2n and 2n + 1,
  // source i is leaf `leaves` + i.
  private[this] val losers = new Array[Int](leaves)
  private[this] var winner = -1

  // Whether the winner's row has been handed out: it is gone once that source goes on.
  private[this] var isTaken = false

  override def hasNext: Boolean = leaves > 0 && {
    settle()
    sources(winner).row != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    isTaken = true
    sources(winner).row
  }

  /** Has the source of the next row as the winner. */
  private[this] def settle(): Unit =
    if (winner < 0) {
      sources.foreach(_.advance())
      winner = play(1)
    } else if (isTaken) {
      isTaken = false
      sources(winner).advance()
      replay()
    }

  /** The winner of all below a node, where those who lose stay. */
  private[this] def play(node: Int): Int =
    if (node >= leaves) node - leaves
    else {
      val (left, right) = (play(2 * node), play(2 * node + 1))
      val isRight = sources(right).isBefore(sources(left))
      losers(node) = if (isRight) left else right
      if (isRight) right else left
    }

  /** Plays the last winner against those that it has beaten. */
  private[this] def replay(): Unit = {
    var best = winner
    var node = (leaves + winner) >> 1
    while (node > 0) {
      val loser = losers(node)
      if (sources(loser).isBefore(sources(best))) {
        losers(node) = best
        best = loser
      }
      node >>= 1
    }
    winner = best
  }
}
