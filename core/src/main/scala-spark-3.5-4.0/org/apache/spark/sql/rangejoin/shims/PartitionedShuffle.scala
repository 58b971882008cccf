// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.Serializer
import org.apache.spark.shuffle.ShuffleWriteProcessor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.{PartitionIdPassthrough, ShuffleDependency}

/** A shuffle of rows that come with the partitions they go to. */
object PartitionedShuffle {
  def of(
      rows: RDD[Product2[Int, InternalRow]],
      partitions: Int,
      serializer: Serializer,
      writer: ShuffleWriteProcessor
  ): ShuffleDependency[Int, InternalRow, InternalRow] =
    new ShuffleDependency[Int, InternalRow, InternalRow](
      rows,
      new PartitionIdPassthrough(partitions),
      serializer,
      shuffleWriterProcessor = writer
    )
}
