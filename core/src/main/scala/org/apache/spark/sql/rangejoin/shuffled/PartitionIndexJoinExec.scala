// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.rangejoin.condition.{RangeCondition, Side}
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.index.{IndexedRangeJoinExec, RangeIndexMode}
import org.apache.spark.sql.rangejoin.join._
import org.apache.spark.sql.rangejoin.scan.{ScanOrder, SortedScanExec, WindowMetrics}
import org.apache.spark.sql.rangejoin.sort.PrefixSorter

/** A range join by an index of one side in each task ([[PartitionJoin]]). */
trait PartitionIndexJoinExec extends SortedScanExec with IndexedRangeJoinExec {

  override protected def otherSideName: String = "Build side"

  override protected def isAdded(column: Attribute): Boolean = false

  override protected def rangeKey(side: Side): Option[Attribute] = None

  override lazy val metrics: Map[String, SQLMetric] = WindowMetrics.create(sparkContext) ++ Map(
    "buildDataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size of build side"),
    "buildTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to build the index"),
    "sortedPartitions" ->
      SQLMetrics.createMetric(sparkContext, "number of partitions sorted for lack of memory")
  )

  private def ofBuild(e: Expression): Expression =
    BindReferences.bindReference(e, otherPlan.output)

  private def mode: RangeIndexMode = RangeIndexMode(
    packed(otherKeys).map(ofBuild),
    range.sortBound.map(ofBuild),
    range.evictBound.map(ofBuild),
    range.sortBound.flatMap(_.prefixedValue).map(ofBuild),
    range.evictBound.flatMap(_.prefixedValue).map(ofBuild),
    if (range.sortBound.isEmpty && range.evictBound.isEmpty) Int.MaxValue
    else conf.getConf(InternalConf.LinearScanThreshold),
    sortMayBeUnknown = range.unknown.sort,
    evictMayBeUnknown = range.unknown.evict
  )()

  /** The order that a scan of both sides sorted needs. */
  protected def streamedOrder(range: RangeCondition): Seq[SortOrder] =
    ScanOrder.of(streamedKeys, range.lowerBound)

  /** Without keys the side of a range with one end may need no order, and is kept in that sorter all the same. */
  private def sorting(order: Seq[SortOrder], side: SparkPlan): SideSorting = {
    val orderOrAny = if (order.isEmpty) Seq(SortOrder(Literal(0L), Ascending)) else order
    SideSorting(
      bindReferences(orderOrAny, side.output),
      side.output.size,
      PrefixSorter.firstLevel(conf))
  }

  /**
   * Generated code of Spark's join always evaluates the keys of streamed rows, and so does this join when it is
   * generated.
   */
  override protected def scans(generated: Boolean): PartitionScanFactory = PartitionJoinFactory(
    mode,
    conf.getConf(InternalConf.IndexLimit),
    join.scannerFactory,
    sorting(streamedOrder(range), streamedPlan),
    sorting(ScanOrder.of(otherKeys, orderOf(range.buffered)), otherPlan),
    scannerFactory(keepsOrder = true),
    generated || behavior.preservesBuffered || behavior.evaluatesKeysIfEmpty,
    PartitionJoinMetrics(
      longMetric("buildDataSize"),
      longMetric("buildTime"),
      longMetric("sortedPartitions"),
      WindowMetrics.of(metrics))
  )

  override protected def asksOften: Boolean = true
}
