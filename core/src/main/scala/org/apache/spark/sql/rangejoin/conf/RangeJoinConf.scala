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

package org.apache.spark.sql.rangejoin.conf

import org.apache.spark.internal.config.{ConfigBuilder, ConfigEntry}
import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/** The configuration of range joins: every key, with its documentation and default. */
object RangeJoinConf {

  val Enabled: ConfigEntry[Boolean] = flag("spark.sql.join.smj.useInnerRangeOptimization")(
    "When true, a join with a range runs as a range join, which pairs only the rows within the " +
      "range; further settings switch off single kinds of range joins (broadcast, shuffled, " +
      "without keys). When false, all plans are those of stock Spark. Can be set at any time in " +
      "a session.")

  val Broadcast: ConfigEntry[Boolean] = flag("spark.sql.join.broadcastRange.enabled")(
    "When true, and range joins are on, a broadcast hash join with a range on top of its " +
      "equi keys, and a broadcast nested loop join with a range, run as a broadcast range " +
      "join, whose broadcast side is indexed by the range.")

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

  val Shuffled: ConfigEntry[Boolean] = flag("spark.sql.join.shuffledRange.enabled")(
    "When true, and range joins are on, a shuffled hash join with a range on top of its equi " +
      "keys runs as a shuffled range join, which indexes the build side of each partition by " +
      "the range.")

  val IndexLimit: ConfigEntry[Long] = entry("spark.sql.join.shuffledRange.indexLimit")(
    "Maximum index size per partition of a shuffled range join, in bytes. A partition whose " +
      "index would be larger, or does not fit into the memory of its task, falls back to " +
      "sort-merge. 0 always sorts.")(
    _.bytesConf(ByteUnit.BYTE)
      .checkValue(_ >= 0, "The number of bytes must not be negative.")
      .createWithDefault(Long.MaxValue))

  val RangePartitioning: ConfigEntry[Boolean] = flag("spark.sql.join.rangePartitioning.enabled")(
    "When true, and range joins are on, a join with a range and without equi keys, neither " +
      "side of which is broadcast, is range-partitioned over tasks by buckets of the range, and " +
      "runs as a sort-merge range join. When false, it is Spark's nested loop join.")

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

  val Skew: ConfigEntry[Boolean] = flag("spark.sql.join.skew.enabled")(
    "When true, and adaptive execution is on, skewed keys of a sort-merge range join are split " +
      "by the range, if a partition of its shuffle is far larger than a task should read.")

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

  val SortedTables: ConfigEntry[Boolean] = flag("spark.sql.join.sortedTables.enabled")(
    "When true, and range joins are on, a sort-merge range join reads a bucketed and sorted table " +
      "in the order of its files, merging the files of a bucket, instead of sorting its rows; and " +
      "writes to such a table are sorted by the range join's sort. When false, a join sorts the " +
      "rows, unless stock Spark relies on their order, and stock Spark sorts the writes.")

  val SortedTablesFiles: ConfigEntry[Int] =
    entry("spark.sql.join.sortedTables.maxFilesPerBucket")(
      "Maximum number of sorted files of a bucket that a task of a range join reads at a time; each " +
        "takes the memory of a reader, which Spark does not account for. If a bucket has more, the " +
        "rows of the table are sorted.")(
      _.intConf
        .checkValue(_ >= 0, "The number of files must not be negative.")
        .createWithDefault(16))

  val SortedTablesBytes: ConfigEntry[Long] =
    entry("spark.sql.join.sortedTables.maxBytesPerBucket")(
      "Where a bucket has several sorted files, the number of bytes that their readers may hold in " +
        "memory at a time, per task and side of the join: the sum of the files' lengths, each " +
        "counted as at most one row group of Parquet (parquet.block.size) or stripe of ORC " +
        "(orc.stripe.size). If a bucket has more, the rows of the table are sorted. This is an " +
        "estimate: columns that are not read take no memory, and columns that are read take more " +
        "once decompressed.")(
      _.bytesConf(ByteUnit.BYTE)
        .checkValue(_ >= 0, "The number of bytes must not be negative.")
        .createWithDefaultString("64MB"))

  val RangePruning: ConfigEntry[Boolean] = flag("spark.sql.join.rangePruning.enabled")(
    "When true, and range joins and adaptive execution are on, the scan of a broadcast range join's " +
      "streamed side leaves out partitions of a table, and files, row groups and pages of Parquet by their " +
      "statistics, that no range of the broadcast side meets.")

  val InferFilters: ConfigEntry[Boolean] = flag("spark.sql.join.rangePruning.inferFilters.enabled")(
    "When true, and range joins are on, limits that a query sets to the range column of one side are " +
      "set to the other side as well, as far as they follow from the range.")

  val BestMatches: ConfigEntry[Boolean] = flag("spark.sql.join.bestMatches.enabled")(
    "When true, and range joins are on, a range join below a ranking of the matches of each row (such " +
      "as row_number() = 1 by the range column of the other side, or max_by) returns only the best " +
      "of them.")

  val Correlated: ConfigEntry[Boolean] = flag("spark.sql.join.correlatedSubqueries.enabled")(
    "When true, and range joins and best matches are on, Spark's as-of joins, and correlated subqueries " +
      "(LATERAL or scalar) that select the first rows of a range, are planned as a range join and a " +
      "ranking. If aggregated matches are on as well, a subquery that aggregates the rows of a key and a " +
      "range is planned as a range join and an aggregate.")

  val AggregatedMatches: ConfigEntry[Boolean] =
    flag("spark.sql.join.aggregatedMatches.enabled")(
      "When true, and range joins are on, a range join below an aggregate that is grouped by " +
        "columns of one side aggregates the matches of each row of that side, and produces no pairs.")

  /** All entries, in the order they are documented. */
  val all: Seq[ConfigEntry[_]] = Seq(
    Enabled,
    Broadcast,
    LinearScanThreshold,
    SecondRangeThreshold,
    Shuffled,
    IndexLimit,
    RangePartitioning,
    RangePartitioningBuckets,
    RangePartitioningThreshold,
    DeferShuffle,
    WriteOnce,
    Skew,
    SkewBuckets,
    SkewThreshold,
    SortedTables,
    SortedTablesFiles,
    SortedTablesBytes,
    BestMatches,
    Correlated,
    AggregatedMatches,
    RangePruning,
    InferFilters
  )

  private def flag(key: String)(doc: String): ConfigEntry[Boolean] =
    entry(key)(doc)(_.booleanConf.createWithDefault(true))

  /**
   * The entry of a key; a new one unless a second class loader has loaded this class before. Spark
   * refuses to register a key twice.
   */
  private def entry[T](key: String)(doc: String)(
      kind: ConfigBuilder => ConfigEntry[T]): ConfigEntry[T] =
    Option(ConfigEntry.findEntry(key))
      .fold(kind(SQLConf.buildConf(key).doc(doc).version("0.1.0")))(_.asInstanceOf[ConfigEntry[T]])
}
