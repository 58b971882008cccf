// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shims

import org.apache.spark.rdd.RDD
import org.apache.spark.serializer.Serializer
import org.apache.spark.shuffle.ShuffleWriteProcessor
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRowChecksum
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.{PartitionIdPassthrough, ShuffleDependency}

/** A shuffle of rows that come with the partitions they go to, with the checksums that settings ask for. */
object PartitionedShuffle {
  def of(
      rows: RDD[Product2[Int, InternalRow]],
      partitions: Int,
      serializer: Serializer,
      writer: ShuffleWriteProcessor
  ): ShuffleDependency[Int, InternalRow, InternalRow] = {
    val conf = SQLConf.get
    val hasChecksums = conf.shuffleOrderIndependentChecksumEnabled ||
      conf.shuffleChecksumMismatchFullRetryEnabled
    new ShuffleDependency[Int, InternalRow, InternalRow](
      rows,
      new PartitionIdPassthrough(partitions),
      serializer,
      shuffleWriterProcessor = writer,
      rowBasedChecksums =
        UnsafeRowChecksum.createUnsafeRowChecksums(if (hasChecksums) partitions else 0),
      checksumMismatchFullRetryEnabled = conf.shuffleChecksumMismatchFullRetryEnabled
    )
  }
}
