/*
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

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
