// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.join

import org.apache.spark.sql.catalyst.InternalRow

/** Creates the scan of a partition, in a task. Interpreted and generated code both start here. */
trait PartitionScanFactory extends Serializable {
  def create(streamed: Iterator[InternalRow], other: Iterator[InternalRow]): PartitionScan
}
