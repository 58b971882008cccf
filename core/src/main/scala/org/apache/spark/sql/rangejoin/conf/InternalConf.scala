// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.conf

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.network.util.ByteUnit

/**
 * Settings for tests, benchmarks and support: `SET -v` does not list them, no page explains them, and any release may
 * drop them. What a user may have to decide is in [[RangeJoinConf]].
 */
object InternalConf extends Settings(isInternal = true) {

  val LinearScanThreshold: ConfigEntry[Int] =
    entry("spark.sql.join.broadcastRange.linearScanThreshold")(
      "Maximum number of rows of a key that a broadcast or shuffled range join scans one by " +
        "one, as the stock join does, without a search.")(
      _.intConf.checkValue(_ >= 0, "The number of rows must not be negative.").createWithDefault(4))

  val SecondRangeThreshold: ConfigEntry[Int] =
    entry("spark.sql.join.broadcastRange.secondRangeThreshold")(
      "Minimum number of rows of a key for which a broadcast range join indexes a second range " +
        "as well, where the condition has one, such as a latitude beside a longitude.")(
      _.intConf.checkValue(_ > 0, "The number of rows must be positive.").createWithDefault(1024))

  val IndexLimit: ConfigEntry[Long] = entry("spark.sql.join.shuffledRange.indexLimit")(
    "Maximum index size per partition of a shuffled range join, in bytes. A partition whose " +
      "index would be larger, or does not fit into the memory of its task, falls back to " +
      "sort-merge. 0 always sorts.")(
    _.bytesConf(ByteUnit.BYTE)
      .checkValue(_ >= 0, "The number of bytes must not be negative.")
      .createWithDefault(Long.MaxValue))

  val RangePartitioningBuckets: ConfigEntry[Int] =
    entry("spark.sql.join.rangePartitioning.buckets")(
      "Number of buckets of a range join without equi keys. 0 decides by the number of rows, of " +
        "copies and of shuffle partitions.")(
      _.intConf
        .checkValue(n => n >= 0 && n <= 1000000, "The number of buckets must be from 0 to 1000000.")
        .createWithDefault(0))

  val RangePartitioningThreshold: ConfigEntry[Long] =
    entry("spark.sql.join.rangePartitioning.threshold")(
      "A range join without equi keys uses one bucket, and reads no sample, if Spark estimates " +
        "each side at no more than this number of bytes.")(
      _.bytesConf(ByteUnit.BYTE).createWithDefaultString("1MB"))

  val DeferShuffle
      : ConfigEntry[Boolean] = flag("spark.sql.join.rangePartitioning.deferShuffle.enabled")(
    "When true, and adaptive execution is on, a range join without equi keys shuffles neither " +
      "side before the size of both is known. A side of unknown size, such as a filtered one, " +
      "is read until it exceeds what Spark may broadcast; shuffles below a side run first. A " +
      "side that turns out small is broadcast.")

  val WriteOnce
      : ConfigEntry[Boolean] = flag("spark.sql.join.rangePartitioning.writeOnce.enabled")(
    "When true, a side of a range join without equi keys whose rows take longer to compute " +
      "than to write (user functions, regular expressions, digests, parsing, joins, aggregates) " +
      "is computed once and written by a shuffle of its own, which the sample and the join " +
      "read.")

  val SkewBuckets: ConfigEntry[Int] = entry("spark.sql.join.skew.buckets")(
    "Number of buckets into which every key of a sort-merge range join is split, however " +
      "small it is. 0 decides by the sizes of the partitions of the shuffle.")(
    _.intConf
      .checkValue(n => n >= 0 && n <= 10000, "The number of buckets must be from 0 to 10000.")
      .createWithDefault(0))

  val SkewThreshold: ConfigEntry[Long] = entry("spark.sql.join.skew.threshold")(
    "Keys of a sort-merge range join are split only if that saves its longest task more than " +
      "this number of bytes of the shuffle, of both sides together.")(
    _.bytesConf(ByteUnit.BYTE).createWithDefaultString("8MB"))

  val SortedTablesFiles: ConfigEntry[Int] =
    entry("spark.sql.join.sortedTables.maxFilesPerBucket")(
      "Maximum number of sorted files of a bucket that a task of a range join reads at a time; each " +
        "takes the memory of a reader, which Spark does not account for. If a bucket has more, the " +
        "rows of the table are sorted.")(
      _.intConf
        .checkValue(_ >= 0, "The number of files must not be negative.")
        .createWithDefault(16))
}
