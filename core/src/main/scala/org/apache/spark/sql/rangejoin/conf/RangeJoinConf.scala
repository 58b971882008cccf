// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.conf

import scala.collection.mutable.ListBuffer

import org.apache.spark.internal.config.{ConfigBuilder, ConfigEntry}
import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/** The configuration of range joins: every key, with its documentation and default. */
object RangeJoinConf extends Settings(isInternal = false) {

  val Enabled: ConfigEntry[Boolean] = flag("spark.sql.join.smj.useInnerRangeOptimization")(
    "When true, a join with a range runs as a range join, which pairs only the rows within the " +
      "range; further settings switch off single kinds of range joins (broadcast, shuffled, " +
      "without keys). When false, all plans are those of stock Spark. Can be set at any time in " +
      "a session.")

  val Broadcast: ConfigEntry[Boolean] = flag("spark.sql.join.broadcastRange.enabled")(
    "When true, and range joins are on, a broadcast hash join with a range on top of its " +
      "equi keys, and a broadcast nested loop join with a range, run as a broadcast range " +
      "join, whose broadcast side is indexed by the range.")

  val Shuffled: ConfigEntry[Boolean] = flag("spark.sql.join.shuffledRange.enabled")(
    "When true, and range joins are on, a shuffled hash join with a range on top of its equi " +
      "keys runs as a shuffled range join, which indexes the build side of each partition by " +
      "the range.")

  val RangePartitioning: ConfigEntry[Boolean] = flag("spark.sql.join.rangePartitioning.enabled")(
    "When true, and range joins are on, a join with a range and without equi keys, neither " +
      "side of which is broadcast, is range-partitioned over tasks by buckets of the range, and " +
      "runs as a sort-merge range join. When false, it is Spark's nested loop join.")

  val Skew: ConfigEntry[Boolean] = flag("spark.sql.join.skew.enabled")(
    "When true, and adaptive execution is on, skewed keys of a sort-merge range join are split " +
      "by the range, if a partition of its shuffle is far larger than a task should read.")

  val SortedTables: ConfigEntry[Boolean] = flag("spark.sql.join.sortedTables.enabled")(
    "When true, and range joins are on, a sort-merge range join reads a bucketed and sorted table " +
      "in the order of its files, merging the files of a bucket, instead of sorting its rows; and " +
      "writes to such a table are sorted by the range join's sort. When false, a join sorts the " +
      "rows, unless stock Spark relies on their order, and stock Spark sorts the writes.")

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

  val RangePruning: ConfigEntry[Boolean] = flag("spark.sql.join.rangePruning.enabled")(
    "When true, and range joins and adaptive execution are on, the scan of a broadcast range join's " +
      "streamed side leaves out partitions of a table, and files, row groups and pages of Parquet by their " +
      "statistics, that no range of the broadcast side meets.")

  val InferFilters: ConfigEntry[Boolean] = flag("spark.sql.join.rangePruning.inferFilters.enabled")(
    "When true, and range joins are on, limits that a query sets to the range column of one side are " +
      "set to the other side as well, as far as they follow from the range.")
}

/** Settings, which are registered with Spark as they are defined. */
private[conf] abstract class Settings(isInternal: Boolean) {
  private val defined = ListBuffer.empty[ConfigEntry[_]]

  /** All entries, in the order they are documented. */
  def all: Seq[ConfigEntry[_]] = defined.toList

  protected def flag(key: String)(doc: String): ConfigEntry[Boolean] =
    entry(key)(doc)(_.booleanConf.createWithDefault(true))

  /**
   * The entry of a key; a new one unless a second class loader has loaded this class before. Spark
   * refuses to register a key twice.
   */
  protected def entry[T](key: String)(doc: String)(
      kind: ConfigBuilder => ConfigEntry[T]): ConfigEntry[T] = {
    val entry = Option(ConfigEntry.findEntry(key)).fold {
      val builder = SQLConf.buildConf(key).doc(doc).version("0.1.0")
      kind(if (isInternal) builder.internal() else builder)
    }(_.asInstanceOf[ConfigEntry[T]])
    defined += entry
    entry
  }
}
