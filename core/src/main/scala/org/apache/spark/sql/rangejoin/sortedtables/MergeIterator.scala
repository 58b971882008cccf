// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.sortedtables

import org.apache.spark.sql.catalyst.InternalRow

/**
 * The rows of several sources in the order of all, by a tree of losers: the source whose row was taken
 * plays its next one against those it has beaten, a comparison for each level. Of equal rows any comes
 * first.
 *
 * Rows are compared by the longs of their keys, and where these do not decide, themselves. Where a source
 * has won twice in a row, as files do that were appended later, its rows before the best of the others are
 * counted, and these play no more.
 *
 * @param keys of the sources
 */
private[sortedtables] final class MergeIterator(sources: Array[SortedSource], keys: SortKeys)
    extends Iterator[InternalRow] {
  private[this] val leaves = sources.length
  private[this] val rows = sources.map(new RowsAhead(_))

  // By inner node, from 1 on, the source that has lost there, and the longs of its row. The children of
  // node n are 2n and 2n + 1, source i is leaf `leaves` + i.
  private[this] val losers = new Array[Int](leaves)
  private[this] val firsts, seconds = new Array[Long](leaves)
  private[this] var winner = -1

  // Whether the winner's row has been handed out: it is gone once that source goes on.
  private[this] var isTaken = false

  // How many rows of the winner, after the current one, are known to be before all others'.
  private[this] var unbeaten = 0

  override def hasNext: Boolean = leaves > 0 && {
    settle()
    !rows(winner).isDone
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException
    isTaken = true
    rows(winner).row
  }

  /** Makes the source of the next row the winner. */
  private[this] def settle(): Unit =
    if (winner < 0) {
      rows.foreach(_.advance())
      winner = play(1)
    } else if (isTaken) {
      isTaken = false
      rows(winner).advance()
      if (unbeaten > 0) unbeaten -= 1
      else {
        val last = winner
        replay()
        if (winner == last) unbeaten = countUnbeaten()
      }
    }

  /** The winner of all sources below a node; losers stay at the nodes. */
  private[this] def play(node: Int): Int =
    if (node >= leaves) node - leaves
    else {
      val (left, right) = (play(2 * node), play(2 * node + 1))
      val (l, r) = (rows(left), rows(right))
      val isRight =
        if (l.first != r.first) r.first < l.first
        else if (l.second != r.second) r.second < l.second
        else isBeforeInRow(right, left)
      val loser = if (isRight) left else right
      losers(node) = loser
      firsts(node) = rows(loser).first
      seconds(node) = rows(loser).second
      if (isRight) right else left
    }

  /**
   * Plays the last winner against those that it has beaten. The outcome cannot be predicted, so that a branch here
   * costs more than all else: a mask of all bits, or of none, exchanges the two.
   */
  private[this] def replay(): Unit = {
    var best = winner
    var first = rows(best).first
    var second = rows(best).second
    var node = (leaves + best) >> 1
    while (node > 0) {
      val loser = losers(node)
      val f = firsts(node)
      val s = seconds(node)
      val differ = first ^ f
      val isEqual = ~((differ | -differ) >> 63)
      val swap =
        if ((differ | (second ^ s)) == 0) { if (isBeforeInRow(loser, best)) -1L else 0L }
        else less(f, first) | (isEqual & less(s, second))
      val ofFirst = differ & swap
      firsts(node) = f ^ ofFirst
      first ^= ofFirst
      val ofSecond = (second ^ s) & swap
      seconds(node) = s ^ ofSecond
      second ^= ofSecond
      val ofSource = (best ^ loser) & swap.toInt
      losers(node) = loser ^ ofSource
      best ^= ofSource
      node >>= 1
    }
    winner = best
  }

  /** By the longs alone, of the rows that the winner's source has at hand. */
  private[this] def countUnbeaten(): Int = {
    var node = (leaves + winner) >> 1
    var first, second = RowsAhead.NoRow
    while (node > 0) {
      val f = firsts(node)
      if (f < first || (f == first && seconds(node) < second)) {
        first = f
        second = seconds(node)
      }
      node >>= 1
    }
    rows(winner).countBefore(first, second)
  }

  /** All bits where a < b, else none. */
  @inline private[this] def less(a: Long, b: Long): Long =
    ((a & ~b) | (~(a ^ b) & (a - b))) >> 63

  /** Whether the row of one source comes before that of another, where the longs do not decide. */
  private[this] def isBeforeInRow(one: Int, other: Int): Boolean = {
    val (a, b) = (rows(one), rows(other))
    if (a.isDone) false
    else if (b.isDone) true
    else {
      val decide = keys.areWhole && a.first != SortKeys.NullLong && a.second != SortKeys.NullLong
      !decide && keys.ordering.compare(a.row, b.row) < 0
    }
  }
}

/**
 * The rows of a partition of files, which are closed when all rows are read or no more of them are needed.
 *
 * Spark's scan closes a file when it is at its end, or else when the task ends: a task that has many partitions
 * (`coalesce`) would hold the readers of all of them. Drops everything when it is closed, since the task keeps this
 * object until it ends.
 *
 * @param opened what the files were opened under
 */
private[sortedtables] final class MergedRows(
    private[this] var rows: Iterator[InternalRow],
    private[this] var opened: FilesContext
) extends Iterator[InternalRow] {

  override def hasNext: Boolean = rows != null && (rows.hasNext || {
    close()
    false
  })

  override def next(): InternalRow =
    if (rows == null) throw new NoSuchElementException else rows.next()

  def isClosed: Boolean = rows == null

  /** Closes the files. There are no more rows. */
  def close(): Unit = if (rows != null) {
    val files = opened
    rows = null
    opened = null
    files.close()
  }
}
