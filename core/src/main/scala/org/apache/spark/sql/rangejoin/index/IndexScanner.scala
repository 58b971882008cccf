// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BasePredicate,
  Expression,
  JoinedRow,
  Literal,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.aggregate.{RunAggregates, RunScanner}
import org.apache.spark.sql.rangejoin.best.StreamedPoint
import org.apache.spark.sql.rangejoin.condition.JoinTypeBehavior
import org.apache.spark.sql.rangejoin.join.{PairPredicate, PairTests}

/**
 * Scans an index for one streamed row after the other, which may come in any order. If the join visits all streamed
 * rows, `nextStreamed` also stops at rows without candidates.
 *
 * @param keyOf the key of a streamed row; null where there are no keys
 * @param boundsOf the lower and the upper bound of a streamed row
 * @param evaluatesKeys whether keys of streamed rows are evaluated; there may be no need if the
 *   index has no rows
 * @param point what the best candidates are compared with; None where they are not
 * @param secondOf the lower and the upper bound of a streamed row by a second range; null where there is none
 */
final class IndexScanner(
    streamed: Iterator[InternalRow],
    cursor: RangeCursor,
    keyOf: UnsafeProjection,
    boundsOf: UnsafeProjection,
    tests: PairTests[BasePredicate],
    behavior: JoinTypeBehavior,
    evaluatesKeys: Boolean,
    point: Option[Expression],
    secondOf: UnsafeProjection
) extends RunScanner {
  private[this] val visitsAll = behavior.visitsAllStreamed
  private[this] val readsStreamed = visitsAll || keyOf == null || evaluatesKeys
  private[this] val stopsAtMatch = behavior.stopsAtMatch
  private[this] val condition = tests.condition
  private[this] val upperByValue = tests.upperByValue.orNull
  private[this] val lowerByValue = tests.lowerByValue.orNull
  private[this] val pair = new JoinedRow
  private[this] val pointOf = point.map(new StreamedPoint(_)).orNull

  private[this] var streamedRow: InternalRow = _
  private[this] var candidate: UnsafeRow = _
  private[this] var scanning = false

  override def currentStreamed: InternalRow = streamedRow

  override def currentCandidate: UnsafeRow = candidate

  override def isMatch: Boolean = cursor.isUndecided

  override def isScanning: Boolean = scanning

  override def nextStreamed(): Boolean = {
    scanning = false
    while (!scanning && readsStreamed && streamed.hasNext) {
      streamedRow = streamed.next()
      begin()
      scanning = seek() || visitsAll
    }
    scanning
  }

  /** Goes to the rows in reach of the streamed row; false where its key has none. */
  private def seek(): Boolean = {
    val found =
      if (evaluatesKeys) seekKey(keyOf(streamedRow))
      else if (keyOf == null) cursor.seek()
      else cursor.skip()
    if (found && cursor.isSearched) {
      val bounds = boundsOf(streamedRow)
      if (!bounds.anyNull) {
        if (pointOf != null) cursor.aim(pointOf(streamedRow))
        if (secondOf != null && cursor.wantsSecond()) {
          val second = secondOf(streamedRow)
          if (!second.anyNull) cursor.aimSecond(second.getLong(0), second.getLong(1))
        }
        cursor.search(bounds.getLong(0), bounds.getLong(1))
        while (cursor.asks()) {
          val test = if (cursor.asksUpper) upperByValue else lowerByValue
          cursor.answer(test.eval(pair(streamedRow, cursor.row)))
        }
      } else {
        cursor.skip()
      }
    }
    found
  }

  private def seekKey(key: UnsafeRow): Boolean =
    if (key.anyNull) cursor.skip() else cursor.seek(key)

  override def nextCandidate(): Boolean = {
    candidate = null
    while (candidate == null && cursor.next()) {
      if (!cursor.isUndecided || holds(pair(streamedRow, cursor.row))) candidate = cursor.row
    }
    scanning = candidate != null
    scanning
  }

  override def step(): Boolean = step(cursor.row)

  override def step(row: UnsafeRow): Boolean = cursor.step(row)

  /**
   * Marks all candidates of the streamed row at once; false if they have to be visited one by one.
   */
  def markRun(marks: MatchMarks): Boolean = cursor.markRun(marks)

  override def mayBeRun: Boolean = cursor.mayBeRun

  override def aggregateRun(runs: RunAggregates): Int = cursor.aggregateRun(runs)

  /** The index of the current candidate among all rows. */
  def rowIndex: Int = cursor.rowIndex

  /** Nothing to do: the cursor keeps it itself. */
  override def keepStep(row: UnsafeRow): Unit = ()

  override def markMatched(): Unit = {
    super.markMatched()
    cursor.take()
  }

  override protected def noCandidate(): Unit = candidate = null

  private def holds(pair: InternalRow): Boolean =
    if (stopsAtMatch) errors.holds(condition, pair) else condition.eval(pair)
}

/**
 * What tasks need to make their scanner.
 *
 * @param keys of the streamed side, bound to it
 * @param lower the lower bound of a streamed row; None where there is no such test
 * @param upper likewise the upper bound
 * @param tests bound to the streamed row followed by a row of the index
 * @param point what the best candidates are compared with; None where they are not
 * @param second the lower and the upper bound of a streamed row by a second range; none where there is none
 */
case class IndexScannerFactory(
    keys: Seq[Expression],
    lower: Option[Expression],
    upper: Option[Expression],
    tests: PairTests[Expression],
    behavior: JoinTypeBehavior,
    point: Option[Expression],
    second: Seq[Expression]
) {

  /**
   * A scanner of streamed rows.
   *
   * @param evaluatesKeysIfEmpty whether the keys of streamed rows are evaluated even if the index
   *   was built of no rows: what is evaluated is what stock evaluates, and raises what it raises
   */
  def create(
      streamed: Iterator[InternalRow],
      cursor: RangeCursor,
      evaluatesKeysIfEmpty: Boolean = behavior.evaluatesKeysIfEmpty
  ): IndexScanner = new IndexScanner(
    streamed,
    cursor,
    if (keys.isEmpty) null else UnsafeProjection.create(keys),
    UnsafeProjection.create(Seq(lower, upper).map(_.getOrElse(Literal(0L)))),
    tests.map(PairPredicate.create),
    behavior,
    evaluatesKeys = keys.nonEmpty && (evaluatesKeysIfEmpty || !cursor.buildIsEmpty),
    point,
    if (second.isEmpty) null else UnsafeProjection.create(second)
  )
}

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
