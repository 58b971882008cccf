// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import org.apache.spark.sql.catalyst.InternalRow

/** Which buckets there are, of one key or of several; their ids say where rows go. */
trait RowLayout extends Serializable {

  /** The buckets of a key, by its hash. */
  def bucketsOf(key: Int): BucketLayout

  /**
   * Where a row goes that is kept and matches nothing: to the same place when it is read again.
   *
   * @param partition of the map task that reads it
   */
  def anyId(row: InternalRow, partition: Int): Int
}
