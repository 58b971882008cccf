// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.aggregate

import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Expression,
  JoinedRow,
  Literal,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.rangejoin.condition.UnknownBounds
import org.apache.spark.sql.rangejoin.kernel.{RangeBound, Run}
import org.apache.spark.sql.types.LongType

/**
 * Functions of one window ([[WindowedFunction]]), as a task has them.
 *
 * @param lower where the window begins, over the streamed row; None if it has no begin
 * @param upper where it ends
 * @param unknown which of these may be unknown
 * @param longs of the values that rows are in the order of
 * @param guard over the streamed row
 * @param inside of the buffered row
 * @param outside of the streamed row; None if matches outside of the window give nothing
 */
final case class RunWindow(
    lower: Option[Expression],
    upper: Option[Expression],
    unknown: UnknownBounds,
    longs: ValueLongs,
    guard: Option[Expression],
    inside: MatchAggregation,
    outside: Option[MatchAggregation])

/**
 * The longs of values in a run. Where the first or the last of all longs are kept for something else, as for NULL before
 * the values, the values beyond the least or the greatest have that one as well.
 */
final case class ValueLongs(least: Long, greatest: Long) {

  /** Whether a range of values is one of longs: none of its ends is among values that share a long. */
  def tellApart(lower: Long, upper: Long): Boolean =
    (least == Long.MinValue || upper >= least && (lower > least || lower == Long.MinValue)) &&
      (greatest == Long.MaxValue || lower <= greatest && (upper < greatest || upper == Long.MaxValue))
}

object ValueLongs {

  /** Where rows with a NULL come before the values. */
  val BehindNulls: ValueLongs =
    ValueLongs(RangeBound.LeastBehindNulls, RangeBound.GreatestBehindNulls)
}

/**
 * Aggregates runs, and parts of them: each window is the part of a run between two bounds, which are searched for. Windows
 * with the same functions share the buffers of their blocks, also with the whole run, so that one more window costs two
 * searches and some merges.
 *
 * @param whole the functions of all matches
 */
private[aggregate] final class WindowedRuns(
    whole: MatchAggregation,
    windows: Seq[RunWindow],
    tasks: TaskMemoryManager)
    extends RunAggregates(whole, tasks) {
  import WindowedRuns.Known

  private[this] val shared =
    windows.map(_.inside).distinct.filterNot(_ == whole).map(of =>
      of -> new RunAggregates(of, tasks)).toMap
  private[this] val parts = windows.map(new Part(_)).toArray
  // Three columns for each window: its begin, its end, and whether it has any matches.
  private[this] val toBounds = UnsafeProjection.create(windows.flatMap { window =>
    Seq(window.lower, window.upper).map(_.getOrElse(Literal(0L, LongType))) :+
      window.guard.getOrElse(Literal.TrueLiteral)
  })
  private[this] var bounds: UnsafeRow = _

  /**
   * Begins with another streamed row.
   *
   * @return false if its matches have to be visited one by one, as it is not known where a window begins or ends
   */
  def begin(streamed: InternalRow): Boolean = {
    bounds = toBounds(streamed)
    var i = 0
    var known = true
    while (i < parts.length) {
      known = parts(i).begin(i * 3) && known
      i += 1
    }
    known
  }

  // Of intervals no part of a run is a window.
  override def areExact: Boolean = false

  override def aggregate(
      rows: Run,
      epoch: Long,
      oldest: Int,
      from: Int,
      until: Int,
      common: Int): Unit = {
    var i = 0
    while (i < parts.length) {
      parts(i).aggregate(rows, epoch, oldest, from, until, common)
      i += 1
    }
    super.aggregate(rows, epoch, oldest, from, until, common)
  }

  /**
   * The buffers of all windows, one behind the other.
   *
   * @param matches how many matches the streamed row has
   */
  def results(streamed: InternalRow, matches: Int): InternalRow = {
    var row: InternalRow = InternalRow.empty
    var i = 0
    while (i < parts.length) {
      row = parts(i).behind(row, streamed, matches)
      i += 1
    }
    row
  }

  override def close(): Unit = {
    shared.values.foreach(_.close())
    super.close()
  }

  private final class Part(window: RunWindow) {
    private[this] val (hasLower, hasUpper) = (window.lower.isDefined, window.upper.isDefined)
    // Null where they are those of the whole run.
    private[this] val runs = shared.getOrElse(window.inside, null)
    private[this] val merged = MatchAggregator.create(window.inside)
    private[this] val repeated = window.outside.map(new RepeatedAggregator(_)).orNull
    private[this] val joined = new JoinedRow
    private[this] val (least, greatest) = (window.longs.least, window.longs.greatest)
    private[this] var lower = Known
    private[this] var upper = Known
    private[this] var isEmpty = false
    private[this] var count = 0
    private[this] var inside: UnsafeRow = _

    /** @return whether it is known where the window is, by columns of `bounds` from this one on */
    def begin(at: Int): Boolean = {
      count = 0
      val (isLowerNull, isUpperNull) = (bounds.isNullAt(at), bounds.isNullAt(at + 1))
      isEmpty = isLowerNull || isUpperNull || bounds.isNullAt(at + 2) || !bounds.getBoolean(at + 2)
      // An end that could not be computed raises an error, even if the other end is NULL.
      lower = if (isLowerNull) Known else if (hasLower) bounds.getLong(at) else Long.MinValue
      upper = if (isUpperNull) Known else if (hasUpper) bounds.getLong(at + 1) else Long.MaxValue
      !window.unknown.inStreamed(lower, upper) && (isEmpty || window.longs.tellApart(lower, upper))
    }

    def aggregate(
        rows: Run,
        epoch: Long,
        oldest: Int,
        from: Int,
        until: Int,
        common: Int): Unit = if (!isEmpty) {
      val begin = math.max(lower, least)
      val first = if (begin > Long.MinValue) rows.firstFrom(from, until, begin) else from
      val last = math.min(upper, greatest)
      val end = if (last < Long.MaxValue) rows.firstFrom(first, until, last + 1) else until
      count = end - first
      if (count > 0) {
        val ofPart =
          if ((common == RunAggregates.Begin && first == from) ||
            (common == RunAggregates.End && end == until)) common
          else RunAggregates.NoEnd
        if (runs == null) {
          WindowedRuns.super.aggregate(rows, epoch, oldest, first, end, ofPart)
          inside = result.copy()
        } else {
          runs.aggregate(rows, epoch, oldest, first, end, ofPart)
          inside = runs.result.copy()
        }
      }
    }

    def behind(row: InternalRow, streamed: InternalRow, matches: Int): InternalRow = {
      val buffer =
        if (repeated == null && count > 0) inside
        else {
          merged.clear()
          if (count > 0) merged.merge(inside)
          if (repeated != null && matches > count)
            merged.merge(repeated.aggregate(streamed, (matches - count).toLong))
          merged.result()
        }
      joined(row, buffer)
    }
  }
}

private object WindowedRuns {

  /** An end that is at no extreme of LONG, where one may be unknown. */
  private val Known = 0L
}
