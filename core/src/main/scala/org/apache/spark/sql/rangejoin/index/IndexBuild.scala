// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.index

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}

/**
 * An index in the making: evaluates keys and bounds of rows, and builds the index of them.
 *
 * {{{
 *   rows.forall(add)  and  result()      // else drain(...) has the rows that were added
 * }}}
 *
 * @param expected the number of rows, where it is known
 * @param keepsUnmatchable whether rows that match nothing, with NULL in a bound, are kept; where the index is not
 *   broadcast, those with NULL in a key, too
 */
final class IndexBuild(
    mode: RangeIndexMode,
    expected: Int,
    keepsUnmatchable: Boolean,
    memory: IndexMemory
) {
  private[this] val beginNanos = System.nanoTime()
  private[this] val builder = new RangeIndexBuilder(
    mode.keysBuilder,
    IndexedTest(
      mode.sortBound.isDefined,
      mode.sortValue.map(new ValueOrder(_)).orNull,
      mode.sortMayBeUnknown),
    IndexedTest(
      mode.evictBound.isDefined,
      mode.evictValue.map(new ValueOrder(_)).orNull,
      mode.evictMayBeUnknown),
    sameValues = mode.sortValue == mode.evictValue,
    mode.second,
    mode.linearScanThreshold,
    expected,
    keepsUnmatchable,
    memory
  )
  private[this] val keyOf = if (mode.keys.isEmpty) null else UnsafeProjection.create(mode.keys)
  private[this] val boundsOf = UnsafeProjection.create(mode.sortBound.toSeq ++ mode.evictBound)
  private[this] val sortAt = if (mode.sortBound.isDefined) 0 else -1
  private[this] val evictAt = if (mode.evictBound.isDefined) mode.sortBound.size else -1
  private[this] val keepsNullKeys = !memory.eq(IndexMemory.Unlimited)
  private[this] var ofNoRows = true

  /** Adds a row; false where there is no memory for it, and it was not added. */
  def add(row: InternalRow): Boolean = {
    ofNoRows = false
    val key = if (keyOf == null) null else keyOf(row)
    val bounds = if (key == null || !key.anyNull) boundsOf(row) else null
    if (bounds == null || bounds.anyNull) {
      if (bounds != null && key != null) builder.addKey(key)
      (bounds == null && !keepsNullKeys) || builder.addUnmatchable(row.asInstanceOf[UnsafeRow])
    } else {
      builder.add(
        key,
        if (sortAt >= 0) bounds.getLong(sortAt) else 0L,
        if (evictAt >= 0) bounds.getLong(evictAt) else 0L,
        row.asInstanceOf[UnsafeRow])
    }
  }

  /** The index of all rows; None where there is no memory for it. */
  def result(): Option[RangeIndex] = builder.result(ofNoRows, beginNanos)

  /** Gives away the rows that were added, and their memory back as they go. */
  def drain(visit: UnsafeRow => Unit): Unit = builder.drain(visit)
}
