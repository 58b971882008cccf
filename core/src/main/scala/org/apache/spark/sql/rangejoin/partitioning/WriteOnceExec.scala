// SPDX-License-Identifier: Apache-2.0

package org.apache.spark.sql.rangejoin.partitioning

import scala.concurrent.Future

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Statistics}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.exchange.{
  ENSURE_REQUIREMENTS,
  ReusedExchangeExec,
  ShuffleExchangeExec,
  ShuffleExchangeLike,
  ShuffleOrigin
}
import org.apache.spark.sql.execution.metric.{
  SQLMetric,
  SQLMetrics,
  SQLShuffleReadMetricsReporter,
  SQLShuffleWriteMetricsReporter
}
import org.apache.spark.sql.execution.{
  InputAdapter,
  ShufflePartitionSpec,
  ShuffledRowRDD,
  SparkPlan,
  UnsafeRowSerializer
}
import org.apache.spark.sql.rangejoin.shims.PartitionedShuffle
import org.apache.spark.util.{MutablePair, ThreadUtils}
import org.apache.spark.{MapOutputStatistics, ShuffleDependency}

/**
 * One side of a join without keys, whose rows take longer to make than to write: made once, written, and read from
 * there for the sample and by the buckets.
 *
 * It is a shuffle, so that an adaptive plan makes a stage of it, but it does not distribute rows by value: all rows of
 * a map task go to one partition, and neighbouring tasks share one if there are more tasks than partitions. Nothing is
 * hashed or sorted, rows are not dealt out round-robin, and a task that runs again writes to the same partition. It
 * promises nothing about where rows are.
 *
 * @param writing what makes two nodes the same; null where equal children do
 */
case class WriteOnceExec(@transient writing: Writing, child: SparkPlan)
    extends ShuffleExchangeLike {

  override def nodeName: String = "WriteOnce"

  override def stringArgs: Iterator[Any] = Iterator.empty

  // It stands for the plan of its child, and for nothing of the join.
  override def logicalLink: Option[LogicalPlan] = child.logicalLink

  override def outputPartitioning: Partitioning = UnknownPartitioning(0)

  private lazy val writeMetrics: Map[String, SQLMetric] =
    SQLShuffleWriteMetricsReporter.createShuffleWriteMetrics(sparkContext)
  private lazy val readMetrics: Map[String, SQLMetric] =
    SQLShuffleReadMetricsReporter.createShuffleReadMetrics(sparkContext)

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "dataSize" -> SQLMetrics.createSizeMetric(sparkContext, "data size")
  ) ++ readMetrics ++ writeMetrics

  @transient private lazy val inputRDD: RDD[InternalRow] = child.execute()

  @transient lazy val shuffleDependency: ShuffleDependency[Int, InternalRow, InternalRow] = {
    val rows = inputRDD
    val tasks = math.max(1, rows.getNumPartitions)
    val partitions =
      math.min(tasks, math.max(conf.numShufflePartitions, sparkContext.defaultParallelism))
    val copiesRows = PartitionedRows.copiesRows(partitions)
    val partitioned = rows.mapPartitionsWithIndexInternal { (index, rows) =>
      val partition = (index.toLong * partitions / tasks).toInt
      val pair = new MutablePair[Int, InternalRow]()
      rows.map { row =>
        val keyed: Product2[Int, InternalRow] =
          if (copiesRows) (partition, row.copy()) else pair.update(partition, row)
        keyed
      }
    }
    PartitionedShuffle.of(
      partitioned,
      partitions,
      new UnsafeRowSerializer(output.size, longMetric("dataSize")),
      ShuffleExchangeExec.createShuffleWriteProcessor(writeMetrics))
  }

  // ---------------------------------------------------------------- a stage of an adaptive plan

  @transient override protected lazy val mapOutputStatisticsFuture: Future[MapOutputStatistics] =
    if (inputRDD.getNumPartitions == 0) {
      writing.end()
      Future.successful(null)
    } else {
      val job = sparkContext.submitMapStage(shuffleDependency)
      job.onComplete(_ => writing.end())(ThreadUtils.sameThread)
      job
    }

  override def numMappers: Int = shuffleDependency.rdd.getNumPartitions

  override def numPartitions: Int = shuffleDependency.partitioner.numPartitions

  override def advisoryPartitionSize: Option[Long] = None

  override def shuffleOrigin: ShuffleOrigin = ENSURE_REQUIREMENTS

  // New in Spark 4.
  def shuffleId: Int = shuffleDependency.shuffleId

  override def getShuffleRDD(partitionSpecs: Array[ShufflePartitionSpec]): RDD[InternalRow] =
    new ShuffledRowRDD(shuffleDependency, readMetrics, partitionSpecs)

  override def runtimeStatistics: Statistics = Statistics(
    metrics("dataSize").value,
    Some(metrics(SQLShuffleWriteMetricsReporter.SHUFFLE_RECORDS_WRITTEN).value))

  override protected def doExecute(): RDD[InternalRow] =
    new ShuffledRowRDD(shuffleDependency, readMetrics)

  override protected def withNewChildInternal(newChild: SparkPlan): WriteOnceExec =
    copy(child = newChild)
}

object WriteOnceExec {

  /** What is written directly below a node of a plan that is not adaptive. */
  def directlyBelow(child: SparkPlan): Option[SparkPlan] = child match {
    case InputAdapter(exchange)                           => directlyBelow(exchange)
    case written: WriteOnceExec                           => Some(written)
    case reused @ ReusedExchangeExec(_, _: WriteOnceExec) => Some(reused)
    case _                                                => None
  }
}
