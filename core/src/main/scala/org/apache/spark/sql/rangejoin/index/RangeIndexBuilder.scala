// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.util.collection.PrimitiveVector

/**
 * Builds an index of rows that come in any order: rows are numbered as they come, the numbers sorted
 * by group and sort bound ([[RowOrder]]), and the rows copied in that order. All of it takes time in
 * proportion to the rows. Where bounds are prefixes, rows of equal ones are sorted by the values, and
 * evict bounds become ranks within the group.
 *
 * Asks for memory before it takes it. Where there is none, `add` and `result` say so and change nothing;
 * the rows can then be had back (`drain`).
 *
 * @param expected the number of rows, where it is known
 * @param keepsUnmatchable whether rows that match nothing are kept beside the index
 */
private[index] final class RangeIndexBuilder(
    mode: RangeIndexMode,
    expected: Int,
    keepsUnmatchable: Boolean,
    memory: IndexMemory
) {
  import mode.{linearScanThreshold, second}

  private[this] val keys = mode.keysBuilder
  // The orders of the values that bounds are prefixes of; null where they are the values.
  private[this] val sortOrder = mode.sortValue.map(new ValueOrder(_)).orNull
  private[this] val evictOrder = mode.evictValue.map(new ValueOrder(_)).orNull
  private[this] val descending = mode.sortBound.isEmpty
  private[this] val isBroadcast = memory.eq(IndexMemory.Unlimited)
  private[this] val wordBits =
    if (isBroadcast) PackedRows.WordBits else PackedRows.SmallWordBits
  private[this] val rows = new PackedRows.Builder(expected, wordBits)
  private[this] val unmatchable =
    if (keepsUnmatchable) new PackedRows.Builder(0, wordBits) else null
  private[this] val capacity = math.max(expected, 16)
  private[this] var groups = new PrimitiveVector[Int](capacity)
  private[this] var sort = new PrimitiveVector[Long](capacity)
  private[this] var evict =
    if (descending || mode.evictBound.isEmpty) null else new PrimitiveVector[Long](capacity)
  private[this] var fields = 0
  require(second.isEmpty || isBroadcast, "memory for a second range is not asked for")

  private[this] var held = 0L

  /**
   * Adds a row without NULL in its key and bounds; a bound there is not is of no importance.
   *
   * @return false where there is no memory for it
   */
  def add(key: UnsafeRow, sortBound: Long, evictBound: Long, row: UnsafeRow): Boolean = {
    val bytes = rows.bytesToAppend(row.getSizeInBytes) + keys.bytesToAdd(key) + bytesOfVectors
    val fits = hasRoomFor(bytes)
    if (fits) {
      fields = row.numFields
      groups += keys.add(key)
      sort += (if (descending) ~evictBound else sortBound)
      if (evict != null) evict += evictBound
      rows.append(row)
      if (bytes > 0L) holdOnly(allocatedBytes)
    }
    fits
  }

  /**
   * Keeps the key of a row that matches nothing for its bounds alone, where the index is broadcast: a
   * filter of partitions takes all keys there are, since it may be of another join.
   */
  def addKey(key: UnsafeRow): Unit = if (isBroadcast) keys.add(key)

  /** Keeps a row that matches nothing, where such rows are kept; false where there is no memory. */
  def addUnmatchable(row: UnsafeRow): Boolean = !keepsUnmatchable || {
    val bytes = unmatchable.bytesToAppend(row.getSizeInBytes)
    val fits = hasRoomFor(bytes)
    if (fits) {
      fields = row.numFields
      unmatchable.append(row)
      if (bytes > 0L) holdOnly(allocatedBytes)
    }
    fits
  }

  private def hasRoomFor(bytes: Long): Boolean =
    (bytes == 0L && held > 0L) || {
      val needed = bytes + first
      val fits = groups.size < RangeIndexBuilder.MostRows && memory.acquire(needed)
      if (fits) held += needed
      fits
    }

  /** What was allocated before there was a row. */
  private def first: Long = if (held == 0L) allocatedBytes else 0L

  private def allocatedBytes: Long = rows.allocatedBytes + keys.allocatedBytes +
    groups.capacity * 4L + sort.capacity * 8L + (if (evict == null) 0L else evict.capacity * 8L) +
    (if (unmatchable == null) 0L else unmatchable.allocatedBytes)

  /** Bytes that the next row makes the vectors allocate, which have a new array of twice the length. */
  private def bytesOfVectors: Long =
    if (groups.size < groups.capacity) 0L
    else groups.capacity * 2L * (if (evict == null) 12L else 20L)

  /** Gives back, or takes, what is held beside these bytes. */
  private def holdOnly(bytes: Long): Unit = {
    if (held > bytes) memory.release(held - bytes)
    held = math.min(held, bytes)
  }

  /** The index, whose memory stays held; None where there is no memory for it. Without rows it is free. */
  def result(ofNoRows: Boolean, beginNanos: Long): Option[RangeIndex] = {
    val starts = groupStarts
    val order = new RowOrder(groups, starts)
    val isSearched = order.largestGroup > linearScanThreshold
    val isGiven = order.isGiven(if (isSearched) Some(sort) else None)
    val bytes = if (ofNoRows) 0L else bytesToFinish(order, isSearched, isGiven) + first
    if (memory.acquire(bytes)) {
      held += bytes
      val numbers = if (isGiven) null else order.byGroup
      val sorted = if (isSearched) permuted(sort, numbers) else null
      if (isSearched && !isGiven) order.sortGroups(numbers, sorted)
      val index = build(starts, numbers, sorted, order.largestGroup, ofNoRows, beginNanos)
      holdOnly(index.estimatedSize + ofMarks)
      Some(index)
    } else None
  }

  /**
   * @param numbers of the rows in the order of the index; null if they have come in that order
   * @param sorted the sort bounds in that order; null where no group is searched
   * @param largest the number of rows of the largest group
   */
  private def build(
      starts: Array[Int],
      numbers: Array[Int],
      sorted: Array[Long],
      largest: Int,
      ofNoRows: Boolean,
      beginNanos: Long
  ): RangeIndex = {
    val order = if (sorted == null || ordering == null) numbers else byValue(numbers)
    val packed = if (order == null) rows.result() else rows.inOrder(order)
    def search = {
      val bounds = boundsInOrder(starts, order, sorted)
      val slabs =
        second.filter(_.threshold <= largest).map(Slabs(_, starts, bounds, packed, fields))
      GroupSearch(
        bounds,
        descending,
        asksSort = ordering != null,
        asksEvict = !descending && evictOrder != null,
        linearScanThreshold,
        slabs.orNull)
    }
    new RangeIndex(
      KeyGroups(keys.result(), starts, largest),
      packed,
      fields,
      if (sorted == null) null else search,
      IndexOrigin(
        ofNoRows,
        System.nanoTime() - beginNanos,
        if (isBroadcast) Some(coveredRanges) else None),
      if (unmatchable == null) PackedRows.Empty else unmatchable.result()
    )
  }

  /** The order of rows whose sort bounds are the same; null where there are no such rows. */
  private def ordering: ValueOrder = if (descending) evictOrder else sortOrder

  private def coveredRanges: CoveredRanges =
    if (evict != null) CoveredRanges.ofTwo(sort.size, sort(_), evict(_))
    else if (descending) CoveredRanges.until(sort.size, ~sort(_))
    else CoveredRanges.from(sort.size, sort(_))

  /** What `result` allocates, at most. */
  private def bytesToFinish(order: RowOrder, isSearched: Boolean, isGiven: Boolean): Long = {
    val count = groups.size.toLong
    val ofGroups = keys.bytesToFinish + (keys.groups + 1L) * 8L
    // Rows of the same bound may be in another order than they came in.
    val isCopied = !isGiven || (isSearched && ordering != null)
    val ofNumbers = if (isCopied) count * 4L else 0L
    val ofSort = if (isGiven || !isSearched) 0L else count * 8L + order.bytesToSort
    val ofRows =
      if (isCopied) count * 8L + rows.rowBytes + (1L << 20) else rows.bytesToFinish
    val ofBounds = if (isSearched) count * (if (evict == null) 24L else 40L) else 0L
    // Boxed positions, and values that are no columns, while they are sorted.
    val byValue = if (isSearched) Seq(sortOrder, evictOrder).filter(_ != null) else Nil
    val ofValues = (if (byValue.isEmpty) 0L else count * 64L) +
      (if (byValue.forall(_.isColumn)) 0L else rows.rowBytes)
    ofMarks + ofGroups + ofNumbers + ofRows + math.max(ofSort, ofBounds) + ofValues +
      RangeIndex.Objects
  }

  /** Of a scanner that marks the rows, if unmatched ones are kept. */
  private def ofMarks: Long = if (keepsUnmatchable) groups.size / 8L + 8L else 0L

  /**
   * Passes all rows on, including those that match nothing, and gives their memory back meanwhile. The builder is of no
   * more use afterwards.
   */
  def drain(visit: UnsafeRow => Unit): Unit = {
    def release(bytes: Long): Unit = holdOnly(math.max(0L, held - bytes))
    groups = null
    sort = null
    evict = null
    val kept = rows.allocatedBytes + keys.allocatedBytes +
      (if (unmatchable == null) 0L else unmatchable.allocatedBytes)
    // The consumer that takes them over needs some memory to begin with.
    holdOnly(math.max(0L, math.min(held, kept) - memory.toBeginWith))
    rows.drain(visit, fields)(release)
    if (unmatchable != null) unmatchable.drain(visit, fields)(release)
    holdOnly(0L)
  }

  private def groupStarts: Array[Int] = {
    val starts = new Array[Int](keys.groups + 1)
    var i = 0
    while (i < groups.size) {
      starts(groups(i) + 1) += 1
      i += 1
    }
    var group = 0
    while (group < keys.groups) {
      starts(group + 1) += starts(group)
      group += 1
    }
    starts
  }

  private def boundsInOrder(
      starts: Array[Int],
      order: Array[Int],
      sorted: Array[Long]
  ): IndexBounds = {
    val ends = if (evict == null) null else permuted(evict, order)
    // Prefixes may be equal for every row though the values differ.
    val points =
      ends != null && mode.sortValue == mode.evictValue && java.util.Arrays.equals(sorted, ends)
    val evictBounds =
      if (ends == null || points) null
      else {
        val byRank = if (evictOrder == null) null else ranked(ends, starts, order)
        EvictBounds(ends, starts, byRank)
      }
    IndexBounds(
      starts,
      sorted,
      evictBounds,
      points,
      smallest = if (descending) mode.evictMayBeUnknown else mode.sortMayBeUnknown,
      greatest = ends != null && mode.evictMayBeUnknown
    )
  }

  /**
   * Makes ranks of the evict bounds of each group; one that may be unknown stays what it is.
   *
   * @return the rows of each group in the order of their evict bounds
   */
  private def ranked(evict: Array[Long], starts: Array[Int], order: Array[Int]): Array[Int] = {
    val byEvict = Array.range(0, evict.length)
    val values = new RowValues(evictOrder, ascending = true, rows, fields, order)
    var group = 0
    while (group < starts.length - 1) {
      val (from, end) = (starts(group), starts(group + 1))
      if (end - from > linearScanThreshold) {
        values.sortByBound(byEvict, from, end, evict)
        values.rank(evict, byEvict, from, end)
      }
      group += 1
    }
    byEvict
  }

  /**
   * Sorts rows of one group with equal sort bounds by the value.
   *
   * @param order the numbers of the rows; null, as in the result, where they are in order
   */
  private def byValue(order: Array[Int]): Array[Int] = {
    val sorted = if (order == null) Array.range(0, sort.size) else order
    val values = new RowValues(ordering, ascending = !descending, rows, fields, null)
    var from = 0
    while (from < sorted.length) {
      var end = from + 1
      while (end < sorted.length && sort(sorted(end)) == sort(sorted(from)) &&
        groups(sorted(end)) == groups(sorted(from))) end += 1
      // What may be unknown has no value.
      if (end - from > 1 && sort(sorted(from)) != Long.MinValue) {
        values.sort(sorted, from, end)
      }
      from = end
    }
    if (order == null && sorted.indices.forall(i => sorted(i) == i)) null else sorted
  }

  private def permuted(values: PrimitiveVector[Long], order: Array[Int]): Array[Long] =
    if (order == null) values.toArray
    else {
      val result = new Array[Long](order.length)
      var i = 0
      while (i < order.length) {
        result(i) = values(order(i))
        i += 1
      }
      result
    }
}

private[index] object RangeIndexBuilder {

  /** Arrays of four times as many rows there cannot be. */
  private val MostRows = (1 << 29) - 8
}
