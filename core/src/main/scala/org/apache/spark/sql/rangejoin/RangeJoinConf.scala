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

package org.apache.spark.sql.rangejoin

import org.apache.spark.internal.config.{ConfigBuilder, ConfigEntry}
import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/** The configuration of range joins: every key, with its documentation and default. */
object RangeJoinConf {

  val Enabled: ConfigEntry[Boolean] = flag("spark.sql.join.smj.useInnerRangeOptimization")(
    "When true, a join with a range runs as a range join, which pairs only the rows " +
      "within the range: a sort-merge join with a range on top of its equi keys, and what " +
      "spark.sql.join.broadcastRange.enabled says. When false, plans are those of " +
      "stock Spark. Can be set at any time in a session.")

  val Broadcast: ConfigEntry[Boolean] = flag("spark.sql.join.broadcastRange.enabled")(
    "When true, and range joins are on, a broadcast hash join with a range on top of its " +
      "equi keys, and a broadcast nested loop join with a range, run as a broadcast range " +
      "join, whose broadcast side is indexed by the range.")

  val SmallGroup: ConfigEntry[Int] = entry("spark.sql.join.broadcastRange.smallGroup")(
    "Up to this number of rows of a key, a broadcast or shuffled range join tests each of " +
      "them, as the stock join does, and does not search their bounds.")(
    _.intConf.checkValue(_ >= 0, "The number of rows must not be negative.").createWithDefault(4))

  val Shuffled: ConfigEntry[Boolean] = flag("spark.sql.join.shuffledRange.enabled")(
    "When true, and range joins are on, a shuffled hash join with a range on top of its equi " +
      "keys runs as a shuffled range join, which indexes the build side of each partition by " +
      "the range.")

  val IndexLimit: ConfigEntry[Long] = entry("spark.sql.join.shuffledRange.indexLimit")(
    "The index that a shuffled range join makes of a partition takes this number of bytes at " +
      "most; where it would take more, or the task has no memory for it, both sides of the " +
      "partition are sorted. Zero sorts all of them.")(
    _.bytesConf(ByteUnit.BYTE)
      .checkValue(_ >= 0, "The number of bytes must not be negative.")
      .createWithDefault(Long.MaxValue))

  val Spread: ConfigEntry[Boolean] = flag("spark.sql.join.spreadRange.enabled")(
    "When true, and range joins are on, a join with a range and without equi keys, neither " +
      "side of which is broadcast, is spread over tasks by buckets of the range, and runs as a " +
      "sort-merge range join. When false, it is Spark's nested loop join.")

  val SpreadBuckets: ConfigEntry[Int] = entry("spark.sql.join.spreadRange.buckets")(
    "The number of buckets of a range join without equi keys. Zero leaves it to the number of " +
      "rows, of copies, and of shuffle partitions.")(
    _.intConf
      .checkValue(n => n >= 0 && n <= 1000000, "The number of buckets must be from 0 to 1000000.")
      .createWithDefault(0))

  val SpreadThreshold: ConfigEntry[Long] = entry("spark.sql.join.spreadRange.threshold")(
    "Where Spark estimates both sides of a range join without equi keys at no more than this " +
      "number of bytes, they are joined in one bucket, and not looked at beforehand.")(
    _.bytesConf(ByteUnit.BYTE).createWithDefaultString("1MB"))

  val SpreadAwaitSizes
      : ConfigEntry[Boolean] = flag("spark.sql.join.spreadRange.awaitSizes.enabled")(
    "When true, and adaptive execution is on, neither side of a range join without equi keys is " +
      "shuffled by buckets before its size is known: a side that is filtered, or of a size that " +
      "Spark does not know, is read until it exceeds what Spark may broadcast, and what has to be " +
      "shuffled below a side is shuffled first. A side that turns out small is broadcast.")

  val SpreadWriteOnce
      : ConfigEntry[Boolean] = flag("spark.sql.join.spreadRange.writeOnce.enabled")(
    "When true, a side of a range join without equi keys whose rows take longer to make than to " +
      "write (functions of users, regular expressions, digests, parsing, joins, aggregates) is made " +
      "once, and written by a shuffle of its own, from which it is sampled and joined.")

  val SpreadKeys: ConfigEntry[Boolean] = flag("spark.sql.join.spreadRange.keys.enabled")(
    "When true, heavy keys of a sort-merge range join are cut by the range, where after the shuffle " +
      "a partition has far more bytes than a task ought to have.")

  val SpreadKeysBuckets: ConfigEntry[Int] = entry("spark.sql.join.spreadRange.keys.buckets")(
    "If positive, every key of a sort-merge range join is cut into this number of buckets, " +
      "however small it is. Zero leaves it to the sizes of the shuffle's partitions.")(
    _.intConf
      .checkValue(n => n >= 0 && n <= 10000, "The number of buckets must be from 0 to 10000.")
      .createWithDefault(0))

  val SpreadKeysThreshold: ConfigEntry[Long] = entry("spark.sql.join.spreadRange.keys.threshold")(
    "Keys of a sort-merge range join are cut only where a partition of its shuffle has more " +
      "than this number of bytes, of both sides together.")(
    _.bytesConf(ByteUnit.BYTE).createWithDefaultString("32MB"))

  val PreparedTables: ConfigEntry[Boolean] = flag("spark.sql.join.preparedTables.enabled")(
    "When true, and range joins are on, a sort-merge range join takes the rows of a table that is " +
      "bucketed and sorted in the order of its files, merging those of a bucket, and does not sort " +
      "them; and rows that are written to such a table are sorted as those of a range join. When " +
      "false, a join sorts them, unless stock Spark relies on their order, and stock Spark sorts " +
      "what is written.")

  val PreparedTablesFiles: ConfigEntry[Int] =
    entry("spark.sql.join.preparedTables.maxFilesPerBucket")(
      "The number of sorted files of a bucket that a task of a range join reads at a time; each " +
        "takes the memory of a reader, which Spark does not account for. Where a bucket has more, the " +
        "rows of the table are sorted.")(
      _.intConf
        .checkValue(_ >= 0, "The number of files must not be negative.")
        .createWithDefault(16))

  val PreparedTablesBytes: ConfigEntry[Long] =
    entry("spark.sql.join.preparedTables.maxBytesPerBucket")(
      "Where a bucket has several sorted files, the number of bytes that their readers may have in " +
        "memory of them at a time, in each task and for each side of the join: the sum of the files' " +
        "lengths, each at most a row group of Parquet (parquet.block.size) or a stripe of ORC " +
        "(orc.stripe.size). Where a bucket has more, the rows of the table are sorted. It is an " +
        "estimate: columns that are not read take nothing, and those that are read take more once " +
        "they are decompressed.")(
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

  /** All entries, in the order they are documented. */
  val all: Seq[ConfigEntry[_]] = Seq(
    Enabled,
    Broadcast,
    SmallGroup,
    Shuffled,
    IndexLimit,
    Spread,
    SpreadBuckets,
    SpreadThreshold,
    SpreadAwaitSizes,
    SpreadWriteOnce,
    SpreadKeys,
    SpreadKeysBuckets,
    SpreadKeysThreshold,
    PreparedTables,
    PreparedTablesFiles,
    PreparedTablesBytes,
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
