// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.skew

import org.apache.spark.ShuffleDependency
import org.apache.spark.rdd.{RDD, UnionRDD}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec
import org.apache.spark.sql.execution.metric.{
  SQLMetric,
  SQLMetrics,
  SQLShuffleReadMetricsReporter,
  SQLShuffleWriteMetricsReporter
}
import org.apache.spark.sql.execution.{ShuffledRowRDD, SparkPlan, UnsafeRowSerializer}
import org.apache.spark.sql.rangejoin.best.BestOrder
import org.apache.spark.sql.rangejoin.join.DriverMetrics
import org.apache.spark.sql.rangejoin.kernel.GuardedValue
import org.apache.spark.sql.rangejoin.partitioning.{
  BucketAssigner,
  KeyedColumns,
  PartitionedRange,
  PartitionedRows
}
import org.apache.spark.sql.rangejoin.shims.PartitionedShuffle

/**
 * One side of a join with keys that has been shuffled, some partitions of which are too large: their rows
 * are shuffled again, to the partitions of a [[KeyedLayout]], and all other partitions are passed on as they
 * are. The partitions of the result are those others first, and then those of the layout.
 *
 * The layout adds no column. The rows of a key are no longer together, so nothing above but the join itself
 * may rely on that.
 *
 * @param keys of the join, over the columns of the inputs
 * @param bounds of this side, likewise
 * @param split how the keys are split; None in the trial plan that [[SplitSkewedKeys]] only validates
 * @param inputs readers of the shuffle: first, if any, of the partitions passed on unchanged; last, of those reshuffled
 */
case class SkewReshuffleExec(
    isOwner: Boolean,
    keys: Seq[Expression],
    bounds: Seq[Expression],
    @transient split: Option[SkewSplit],
    inputs: Seq[SparkPlan]
) extends SparkPlan {

  private lazy val readMetrics: Map[String, SQLMetric] =
    SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext)
  private lazy val writeMetrics: Map[String, SQLMetric] =
    SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "numSkewedKeys" -> SQLMetrics.createMetric(sparkContext, "number of skewed keys"),
    "numBuckets" -> SQLMetrics.createMetric(sparkContext, "number of buckets"),
    "largestBucket" -> SQLMetrics.createMetric(
      sparkContext,
      "rows of the largest partition (estimated)"),
    "samplingTime" -> SQLMetrics.createTimingMetric(sparkContext, "time to choose the buckets"),
    "numCopies" -> SQLMetrics.createMetric(sparkContext, "number of copies"),
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size")
  ) ++ readMetrics ++ writeMetrics

  override def children: Seq[SparkPlan] = inputs

  override def output: Seq[Attribute] = inputs.head.output

  override def producedAttributes: AttributeSet = AttributeSet.empty

  override lazy val outputPartitioning: Partitioning = UnknownPartitioning(
    split.fold(0)(_.plan.layout.numPartitions) +
      inputs.init.map(_.outputPartitioning.numPartitions).sum)

  /** Which of the other side's rows are copied, if not all. */
  def best: Option[BestOrder] = split.flatMap(_.best).filter(_ => !isOwner)

  override def stringArgs: Iterator[Any] = Iterator(
    if (isOwner) "owner" else if (best.isDefined) "copies of the best" else "copies",
    keys.mkString("[", ", ", "]"),
    bounds.filterNot(_.isInstanceOf[GuardedValue]).mkString("[", ", ", "]")
  ) ++ split.iterator.flatMap(_.description)

  override protected def doExecute(): RDD[InternalRow] = {
    val chosen = split.getOrElse(throw new IllegalStateException("no layout of the buckets"))
    postMetrics(chosen)
    val columns = new KeyedColumns(keys, bounds, chosen.range.bounds(isOwner).ordinals, output)
    val assigner = new BucketAssigner(
      chosen.plan.layout,
      columns,
      isOwner,
      chosen.range.preservesOwner,
      best = best)
    val reshuffled = shuffled(assigner, chosen.plan.layout.numPartitions, inputs.last.execute())
    new UnionRDD(
      sparkContext,
      inputs.init.map(_.execute()) :+ new ShuffledRowRDD(reshuffled, readMetrics))
  }

  private def postMetrics(chosen: SkewSplit): Unit = {
    DriverMetrics.post(
      this,
      "numSkewedKeys" -> chosen.plan.skewedKeys,
      "numBuckets" -> chosen.plan.buckets,
      "largestBucket" -> chosen.plan.largest)
    if (isOwner) DriverMetrics.post(this, "samplingTime" -> chosen.millis)
  }

  /** A shuffle whose keys are the partitions. */
  private def shuffled(
      assigner: BucketAssigner,
      partitions: Int,
      rows: RDD[InternalRow]): ShuffleDependency[Int, InternalRow, InternalRow] = {
    val copies = longMetric("numCopies")
    val copiesRows = PartitionedRows.copiesRows(partitions)
    val partitioned = rows.mapPartitionsWithIndexInternal { (index, rows) =>
      new PartitionedRows(rows, assigner.start(index), copiesRows, copies)
        .asInstanceOf[Iterator[Product2[Int, InternalRow]]]
    }
    PartitionedShuffle.of(
      partitioned,
      partitions,
      new UnsafeRowSerializer(output.size, longMetric("dataSize")),
      ShuffleExchangeExec.createShuffleWriteProcessor(writeMetrics)
    )
  }

  /**
   * Exchanges above are the same if what they shuffle is, however it was reshuffled below: one is
   * used in the place of another as a whole, with both sides of the join below it.
   */
  override protected def doCanonicalize(): SparkPlan =
    super.doCanonicalize().asInstanceOf[SkewReshuffleExec].copy(split = None)

  override protected def withNewChildrenInternal(
      newChildren: IndexedSeq[SparkPlan]): SkewReshuffleExec = copy(inputs = newChildren)
}

/**
 * How skewed keys of a join are split: what both sides of it have in common.
 *
 * @param millis how long it took to find out
 * @param partitions how many partitions of the join's shuffle are reshuffled
 * @param best which copies are enough, where each row of the owner wants its best matches alone
 */
case class SkewSplit(
    range: PartitionedRange,
    plan: KeyedPlan,
    millis: Long,
    partitions: Int,
    best: Option[BestOrder]) {

  /** What EXPLAIN says of it. */
  private[skew] def description: Seq[String] = Seq(
    s"$partitions partitions of the shuffle into ${plan.layout.numPartitions}",
    s"${plan.skewedKeys} keys in ${plan.buckets} buckets",
    "boundaries: quantiles of both sides"
  )
}
