// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.condition.UnknownBounds

/**
 * One side of a range join: rows in groups of one key, within a group by sort bound, and
 * their bounds beside them.
 *
 * {{{
 *   key ──▶ group ──▶ rows from starts(group) until starts(group + 1)
 *                     bounds(i)  of row i
 * }}}
 *
 * Rows that cannot match, those with NULL in a key or in a bound, are beside the others or left out. Where it is
 * broadcast, those with NULL in a bound are kept, for indexes with other bounds to be made of it, and a key of
 * which there are only such rows is a group without rows. A group of a few rows is not
 * searched; where all groups are that small there are no bounds, and the index is no more than
 * a hashed relation. Immutable; where it is broadcast, it is shared by the tasks of an executor, each of
 * which has a cursor of its own.
 *
 * @param rows by group, and in groups that are searched by sort bound
 * @param fields columns of a row
 * @param search how large groups are searched; null where all are small
 * @param unmatchable rows that match nothing, where they are kept
 */
final class RangeIndex private[index] (
    private[index] val groups: KeyGroups,
    private[index] val rows: PackedRows,
    private[rangejoin] val fields: Int,
    private[index] val search: GroupSearch,
    private[index] val origin: IndexOrigin,
    private[index] val unmatchable: PackedRows
) extends BroadcastRelation
    with Serializable {

  /** The number of rows that can match. */
  def size: Int = rows.size

  def isEmpty: Boolean = size == 0

  /** Whether the broadcast side had no rows, of any kind. */
  def buildIsEmpty: Boolean = origin.buildIsEmpty

  /** Nanoseconds it took to build the index. */
  def buildNanos: Long = origin.buildNanos

  /** Bytes of heap: a sum over all keys, which each partition asks for. */
  @transient override lazy val estimatedSize: Long = RangeIndex.Objects + groups.estimatedSize +
    rows.estimatedSize + unmatchable.estimatedSize +
    (if (search == null) 0L else search.estimatedSize)

  /** Whether no two rows have the same key. */
  override def keyIsUnique: Boolean = largestGroup <= 1

  /** The most rows that a key has. */
  def largestGroup: Int = groups.largest

  /** All keys without NULL of the side, whatever the bounds of its rows are; for filters of partitions. */
  override def keys(): Iterator[InternalRow] = groups.directory.keys

  /** Where the ranges of its rows are; None where that was of no interest. */
  def covered: Option[CoveredRanges] = origin.covered

  /**
   * @param best which candidates of a streamed row are wanted; None for all of them
   * @param unknown which bounds may be unknown
   * @param second a second range to search by, which is used if the index has been made for it
   */
  def cursor(
      best: Option[BestOrder] = None,
      unknown: UnknownBounds = UnknownBounds.All,
      second: Option[SecondBounds] = None): RangeCursor =
    new RangeCursor(this, best, unknown, second)

  /** Whether a join by other bounds finds its matches here, since no rows are searched and none were left out. */
  def looksUp(mode: RangeIndexMode): Boolean =
    search == null && unmatchable.size == 0 && largestGroup <= mode.linearScanThreshold

  /** An index of the same rows with other bounds. */
  def indexedBy(mode: RangeIndexMode): RangeIndex = {
    val row = new UnsafeRow(fields)
    val all = Iterator.range(0, sizeOfAll).map { i =>
      readAny(i, row)
      row: InternalRow
    }
    val made = mode.transform(all, Some(sizeOfAll.toLong))
    // There may have been rows with NULL in their keys alone.
    val from = made.origin.copy(buildIsEmpty = buildIsEmpty)
    new RangeIndex(made.groups, made.rows, fields, made.search, from, made.unmatchable)
  }

  /** The number of all rows there are: those that can match, and behind them those kept beside. */
  def sizeOfAll: Int = rows.size + unmatchable.size

  /** Points `row` at one of all rows. */
  def readAny(rowIndex: Int, row: UnsafeRow): Unit =
    if (rowIndex < rows.size) rows.read(rowIndex, row)
    else unmatchable.read(rowIndex - rows.size, row)
}

private[index] object RangeIndex {

  /** Headers of arrays and objects, roughly. */
  val Objects = 256L
}

/**
 * Which rows have a key.
 *
 * @param starts the first row of each group, and the end of the last
 * @param largest the number of rows of the largest group
 */
private[index] final case class KeyGroups(
    directory: KeyDirectory,
    starts: Array[Int],
    largest: Int) {

  def size: Int = starts.length - 1

  def estimatedSize: Long = directory.estimatedSize + starts.length * 4L
}

/**
 * What an index was built from.
 *
 * @param buildIsEmpty whether there were no rows; those that cannot match are rows, too
 * @param covered where the ranges of the rows that can match are; None if that is not needed
 */
private[index] final case class IndexOrigin(
    buildIsEmpty: Boolean,
    buildNanos: Long,
    covered: Option[CoveredRanges])
