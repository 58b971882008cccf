// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.shuffled

import org.apache.spark.sql.catalyst.expressions.BindReferences.bindReferences
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.rangejoin.condition.RangeCondition
import org.apache.spark.sql.rangejoin.conf.InternalConf
import org.apache.spark.sql.rangejoin.index.{IndexedRangeJoinExec, RangeIndexMode}
import org.apache.spark.sql.rangejoin.join._
import org.apache.spark.sql.rangejoin.kernel.KernelSpec
import org.apache.spark.sql.rangejoin.scan.{RangeScannerFactory, ScanOrder, WindowMetrics}
import org.apache.spark.sql.rangejoin.sort.PrefixSorter

/** A range join by an index of one side in each task ([[PartitionJoin]]). */
trait PartitionIndexJoinExec extends TwoInputRangeJoinExec with IndexedRangeJoinExec {

  override protected def otherSideName: String = "Build side"

  override protected def isAdded(column: Attribute): Boolean = false

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

  private def sorting: SideSorting = SideSorting(
    bindReferences(anyIfNone(streamedOrder(range)), streamedPlan.output),
    streamedPlan.output.size,
    bindReferences(anyIfNone(ScanOrder.of(otherKeys, orderOf(range.buffered))), otherPlan.output),
    otherPlan.output.size,
    PrefixSorter.firstLevel(conf)
  )

  /** Without keys the side of a range with one end may need no order, and is kept in that sorter all the same. */
  private def anyIfNone(order: Seq[SortOrder]): Seq[SortOrder] =
    if (order.isEmpty) Seq(SortOrder(Literal(0L), Ascending)) else order

  private def window: RangeScannerFactory = RangeScannerFactory(
    KernelSpec(
      streamedKeys.map(join.ofStreamed),
      otherKeys.map(ofBuild),
      lower = range.lowerBound.map(join.ofStreamed),
      upper = range.upperBound.map(join.ofStreamed),
      sortBound = range.sortBound.map(ofBuild),
      evictBound = range.evictBound.map(ofBuild)
    ),
    otherPlan.output.size,
    PairTestSpec.of(range, join.condition, best.isDefined).map(join.ofPair),
    behavior,
    RangeScannerFactory.limits(conf),
    WindowMetrics.of(metrics),
    keepsOrder = true,
    join.best.map(_.bound(join.ofStreamed))
  )

  /**
   * Generated code of Spark's join always evaluates the keys of streamed rows, and so does this join when it is
   * generated.
   */
  override protected def scans(generated: Boolean): PartitionScanFactory = PartitionJoinFactory(
    mode,
    conf.getConf(InternalConf.IndexLimit),
    join.scannerFactory,
    sorting,
    window,
    generated || behavior.preservesBuffered || behavior.evaluatesKeysIfEmpty,
    PartitionJoinMetrics(
      longMetric("buildDataSize"),
      longMetric("buildTime"),
      longMetric("sortedPartitions"),
      WindowMetrics.of(metrics))
  )

  override protected def asksOften: Boolean = true
}
