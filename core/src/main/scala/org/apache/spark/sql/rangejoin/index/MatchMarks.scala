// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

/**
 * Which rows of an index have a match: one bit for each row. What is marked stays marked, so that marks
 * of several tasks can be put together in any order, and those of a task that ran twice are the same.
 *
 * @param size the number of rows
 */
final class MatchMarks(size: Int) {
  private[this] val words = new Array[Long]((size + 63) >>> 6)

  def mark(rowIndex: Int): Unit = words(rowIndex >>> 6) |= 1L << rowIndex

  def isMarked(rowIndex: Int): Boolean = (words(rowIndex >>> 6) & (1L << rowIndex)) != 0L

  /** Marks the rows from one until another, which is behind it. */
  def markRun(from: Int, until: Int): Unit = {
    val (first, last) = (from >>> 6, (until - 1) >>> 6)
    // Shifts are modulo 64.
    val (ofFirst, ofLast) = (-1L << from, -1L >>> -until)
    if (first == last) words(first) |= ofFirst & ofLast
    else {
      words(first) |= ofFirst
      var i = first + 1
      while (i < last) {
        words(i) = -1L
        i += 1
      }
      words(last) |= ofLast
    }
  }

  /**
   * The marks as arrays of this many words, by their number; those without a mark are left out.
   */
  def slices(wordsOfSlice: Int): Iterator[(Int, Array[Long])] =
    Iterator.range(0, (words.length + wordsOfSlice - 1) / wordsOfSlice).map { i =>
      val from = i * wordsOfSlice
      i -> java.util.Arrays.copyOfRange(words, from, math.min(from + wordsOfSlice, words.length))
    }.filter { case (_, slice) => slice.exists(_ != 0L) }

  /** Adds marks of this number of rows. */
  def add(marks: Array[Long]): Unit = {
    var i = 0
    while (i < marks.length) {
      words(i) |= marks(i)
      i += 1
    }
  }
}

object MatchMarks {

  /** Bytes that the marks of an index take. */
  def bytesOf(size: Int): Long = ((size + 63L) >>> 6) * 8L
}
