// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.kernel;

import org.apache.spark.sql.catalyst.InternalRow;

/**
 * What a range join needs to know of its rows, and nothing else: their keys and their bounds.
 *
 * <p>The scanner drives the kernel; it never looks into a row itself. There are two
 * implementations, one interpreted and one generated for the expressions at hand, so that the loop
 * over the rows is written once and both engines run it.
 *
 * <p>A kernel holds three keys, those of the current streamed row, of the buffered row that was
 * read last, and of the open group, and four bounds as order-preserving longs (see {@link
 * RangeBound}):
 *
 * <pre>
 *   upper test   sortBound(buffered) &lt;= upper(streamed)
 *   lower test   evictBound(buffered) &gt;= lower(streamed)
 * </pre>
 *
 * <p>Invariant: after a {@code load} that returned true, keys and bounds are those of its row;
 * after one that returned false they are not to be asked for. Keys may point into that row, so it
 * has to stay valid until the next {@code load}; the key of the group is a copy.
 */
public abstract class RangeJoinKernel {
  protected long lower;
  protected long upper;
  protected long sortBound;
  protected long evictBound;

  /** Smallest evict bound that matches the current streamed row. */
  public final long lower() {
    return lower;
  }

  /** Greatest sort bound that matches the current streamed row. */
  public final long upper() {
    return upper;
  }

  /** The bound by which the buffered side is sorted, of the buffered row read last. */
  public final long sortBound() {
    return sortBound;
  }

  /** The bound that decides when the buffered row read last leaves the window. */
  public final long evictBound() {
    return evictBound;
  }

  /**
   * Reads keys and bounds of a streamed row.
   *
   * @return false if a key or a bound is NULL, so that the row matches nothing
   */
  public abstract boolean loadStreamed(InternalRow row);

  /**
   * Reads keys and bounds of a buffered row.
   *
   * @return false if a key or a bound is NULL, so that the row matches nothing
   */
  public abstract boolean loadBuffered(InternalRow row);

  /** Compares the key of the streamed row with the key of the buffered row. */
  public abstract int compareStreamedWithBuffered();

  /** Makes the key of the streamed row the key of the group. */
  public abstract void openGroup();

  /** Whether the streamed row has the key of the group. */
  public abstract boolean streamedInGroup();

  /** Whether the buffered row has the key of the group. */
  public abstract boolean bufferedInGroup();
}
